internal import CurlewLocks
public import Dispatch
public import Foundation

/// How fast a transfer is.
struct TransferSpeed: Sendable {
    var bytesPerSecond: Double?
    /// Seconds.
    var remaining: Double?
}

/// A count and how fast it grew.
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
    /// Bytes per second, smoothed over the last seconds; nil where it is not measured.
    public var throughput: Int? { userInfo[.throughputKey] as? Int }

    /// Seconds until everything is there, at the present speed; nil where that cannot be told.
    public var estimatedTimeRemaining: TimeInterval? { userInfo[.estimatedTimeRemainingKey] as? TimeInterval }
}

// Progress objects of users' own, which can be part of a tree of them.
extension Request {
    /// Keeps `progress` up to date with how much of the body has come, on `queue`: touch it there only.
    ///
    /// Cancelling, pausing and resuming it does so with the request.
    @discardableResult
    public func downloadProgress(updating progress: Progress, on queue: DispatchQueue = .main) -> Self {
        update(progress, on: queue, \.downloadProgress)
        return self
    }

    /// Keeps `progress` up to date with how much of the body has gone out, on `queue`: touch it there only.
    ///
    /// Cancelling, pausing and resuming it does so with the request.
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

    /// What is done with the object is done with the request.
    func handControl(to progress: Progress) {
        progress.isCancellable = true
        progress.isPausable = true
        progress.cancellationHandler = { [weak self] in _ = self?.cancel() }
        progress.pausingHandler = { [weak self, weak progress] in self?.follow(progress, otherwise: true) }
        progress.resumingHandler = { [weak self, weak progress] in self?.follow(progress, otherwise: false) }
    }

    /// Foundation calls the handlers at the same time and in any order: what counts is how the object stands.
    private func follow(_ progress: Progress?, otherwise wasPaused: Bool) {
        var isPaused: Bool
        repeat {
            isPaused = progress?.isPaused ?? wasPaused
            _ = isPaused ? suspend() : resume()
        } while isPaused != (progress?.isPaused ?? wasPaused)
    }
}

/// A user's object, changed on the user's queue.
private struct LiveProgress: Sendable {
    let progress: Progress

    func update(to snapshot: Progress) {
        // On Linux a total of 0 after a positive one stops the process.
        if snapshot.totalUnitCount > 0 { progress.totalUnitCount = snapshot.totalUnitCount }
        progress.completedUnitCount = snapshot.completedUnitCount
        for (key, value) in snapshot.userInfo { progress.setUserInfoObject(value, forKey: key) }
    }
}
