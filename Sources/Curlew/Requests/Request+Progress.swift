internal import CurlewCore
internal import CurlewLocks
public import Dispatch
public import Foundation

// The progress of a request: a snapshot, a closure, a sequence, or the user's own `Progress` object.
extension Request {
    /// A snapshot of the upload progress. Cancelling, pausing or resuming it cancels, suspends or resumes the request.
    public var uploadProgress: Progress { snapshot { ($0.upload, $0.extras?.hooks.uploadProgress) } }
    /// A snapshot of the download progress. Cancelling, pausing or resuming it cancels, suspends or resumes the
    /// request.
    public var downloadProgress: Progress { snapshot { ($0.download, $0.extras?.hooks.downloadProgress) } }

    /// Sets a closure that is called with the progress of the upload, at most once per `interval`. It always receives
    /// the first and the last value. The last closure set is used.
    @discardableResult
    public func uploadProgress(
        every interval: Duration = .milliseconds(50),
        queue: DispatchQueue = .main,
        closure: @escaping @Sendable (Progress) -> Void
    ) -> Self {
        reporter(\.uploadProgress).setHandler(every: interval, queue: queue, closure)
        return self
    }

    /// Sets a closure that is called with the progress of the download, at most once per `interval`. It always receives
    /// the first and the last value. The last closure set is used.
    @discardableResult
    public func downloadProgress(
        every interval: Duration = .milliseconds(50),
        queue: DispatchQueue = .main,
        closure: @escaping @Sendable (Progress) -> Void
    ) -> Self {
        reporter(\.downloadProgress).setHandler(every: interval, queue: queue, closure)
        return self
    }

    // MARK: As a sequence

    // A sequence ends with the request, which does not wait for its reader: values that exceed the buffer are dropped.

    /// The progress of the upload as a sequence. It begins with the latest value, has at most one value per `interval`,
    /// and always ends with the last value.
    public func uploadProgress(
        every interval: Duration = .milliseconds(50),
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.uploadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0, every: interval) }
    }

    /// The progress of the download as a sequence. It begins with the latest value, has at most one value per
    /// `interval`, and always ends with the last value.
    public func downloadProgress(
        every interval: Duration = .milliseconds(50),
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.downloadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0, every: interval) }
    }

    // MARK: Mechanics

    func reporter(_ path: WritableKeyPath<RequestHooks, ProgressReporter?>) -> ProgressReporter {
        let (reporter, hasEnded) = record.withLock { record in
            let last = path == \.uploadProgress ? record.upload : record.download
            let reporter = record.ownExtras.hooks[keyPath: path] ?? ProgressReporter(last: last)
            record.ownExtras.hooks[keyPath: path] = reporter
            return (reporter, record.lifecycle.result != nil)
        }
        if hasEnded { reporter.finish() }
        return reporter
    }

    private func snapshot(_ state: (RequestRecord) -> (TransferCount, ProgressReporter?)) -> Progress {
        let (count, reporter) = record.withLock { state($0) }
        let progress = count.progress
        reporter?.speed.write(to: progress)
        handControl(to: progress)
        return progress
    }
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

extension Progress {
    /// Bytes per second, averaged over the last seconds. `nil` if the speed is not measured.
    public var throughput: Int? { userInfo[.throughputKey] as? Int }

    /// Seconds until the transfer is complete, at the current speed. `nil` if that is unknown.
    public var estimatedTimeRemaining: TimeInterval? { userInfo[.estimatedTimeRemainingKey] as? TimeInterval }
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
