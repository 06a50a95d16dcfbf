internal import CurlewLocks
public import Dispatch
public import Foundation

/// The speed of a transfer.
struct TransferSpeed: Sendable {
    var bytesPerSecond: Double?
    /// The remaining time in seconds.
    var remaining: Double?
}

/// A count, and the speed with which it grew.
struct MeasuredCount: Sendable {
    let count: TransferCount
    let speed: TransferSpeed

    var progress: Progress {
        let progress = count.progress
        speed.write(to: progress)
        return progress
    }
}

extension TransferSpeed {
    func write(to progress: Progress) {
        if let bytesPerSecond { progress.setUserInfoObject(Int(bytesPerSecond), forKey: .throughputKey) }
        if let remaining { progress.setUserInfoObject(remaining, forKey: .estimatedTimeRemainingKey) }
    }
}

extension Progress {
    /// Bytes per second, averaged over the last seconds. `nil` if the speed is not measured.
    public var throughput: Int? { userInfo[.throughputKey] as? Int }

    /// Seconds until the transfer is complete, at the current speed. `nil` if that is unknown.
    public var estimatedTimeRemaining: TimeInterval? { userInfo[.estimatedTimeRemainingKey] as? TimeInterval }
}

// Users' `Progress` objects, which can be part of a tree.
extension Request {
    /// Updates `progress` with the received part of the body, on `queue`. Use `progress` only there.
    ///
    /// Cancelling, pausing or resuming it cancels, suspends or resumes the request.
    @discardableResult
    public func downloadProgress(updating progress: Progress, on queue: DispatchQueue = .main) -> Self {
        update(progress, on: queue, \.downloadProgress)
        return self
    }

    /// Updates `progress` with the sent part of the body, on `queue`. Use `progress` only there.
    ///
    /// Cancelling, pausing or resuming it cancels, suspends or resumes the request.
    @discardableResult
    public func uploadProgress(updating progress: Progress, on queue: DispatchQueue = .main) -> Self {
        update(progress, on: queue, \.uploadProgress)
        return self
    }

    private func update(
        _ progress: Progress,
        on queue: DispatchQueue,
        _ path: WritableKeyPath<RequestHooks, ProgressReporter?>
    ) {
        handControl(to: progress)
        let live = LiveProgress(progress: progress)
        reporter(path).addObserver(queue: queue) { live.update(to: $0) }
    }

    /// Lets the object cancel, suspend and resume the request.
    func handControl(to progress: Progress) {
        progress.isCancellable = true
        progress.isPausable = true
        progress.cancellationHandler = { [weak self] in _ = self?.cancel() }
        progress.pausingHandler = { [weak self, weak progress] in self?.follow(progress, otherwise: true) }
        progress.resumingHandler = { [weak self, weak progress] in self?.follow(progress, otherwise: false) }
    }

    /// Suspends or resumes the request until it agrees with the object. Foundation calls the handlers concurrently and
    /// in any order, so the object's current state decides.
    private func follow(_ progress: Progress?, otherwise wasPaused: Bool) {
        var isPaused: Bool
        repeat {
            isPaused = progress?.isPaused ?? wasPaused
            _ = isPaused ? suspend() : resume()
        } while isPaused != (progress?.isPaused ?? wasPaused)
    }
}

/// A user's `Progress` object, changed on the user's queue.
private struct LiveProgress: Sendable {
    let progress: Progress

    func update(to snapshot: Progress) {
        // On Linux, setting a total of 0 after a positive one crashes the process.
        if snapshot.totalUnitCount > 0 { progress.totalUnitCount = snapshot.totalUnitCount }
        progress.completedUnitCount = snapshot.completedUnitCount
        for (key, value) in snapshot.userInfo { progress.setUserInfoObject(value, forKey: key) }
    }
}
