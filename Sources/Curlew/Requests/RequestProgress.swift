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
            let reporter = record.ensureExtras().hooks[keyPath: path] ?? ProgressReporter(last: last)
            record.ensureExtras().hooks[keyPath: path] = reporter
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

/// Reports the progress of a transfer to closures and streams.
///
/// Values that arrive faster than an observer's interval, or than its queue, are merged. The last value is always
/// delivered.
final class ProgressReporter: Sendable {
    /// The interval of twenty reports per second.
    static let defaultInterval = Duration.milliseconds(50)

    fileprivate struct State {
        /// The closure that users set. The last one set is called.
        var handler: ProgressObserver?
        /// The observers that update users' `Progress` objects, and streams.
        var others: [ProgressObserver] = []
        var rate = TransferRate()
        var last: TransferCount
        var isFinished = false
    }

    private let state: Lock<State>

    // A serial queue, so that a stream receives its last value before its end.
    private static let streamQueue = DispatchQueue(label: "curlew.progress")

    /// Creates a reporter whose first streams start with `last`.
    init(last: TransferCount) { state = Lock(State(last: last)) }

    func setHandler(every interval: Duration, queue: DispatchQueue, _ body: @escaping ProgressObserver.Handler) {
        let observer = ProgressObserver(queue: queue, interval: interval, body)
        // The former observer, which holds a user's closure, is released without the lock.
        _ = state.withLock { exchange(&$0.handler, with: observer) }
    }

    func addObserver(queue: DispatchQueue, _ body: @escaping ProgressObserver.Handler) {
        let observer = ProgressObserver(queue: queue, interval: Self.defaultInterval, body)
        state.withLock { $0.others.append(observer) }
    }

    /// Adds a stream. It begins with the latest value, also if the request has ended.
    func add(_ stream: AsyncStream<Progress>.Continuation, every interval: Duration) {
        let now = ProgressObserver.now
        let (observer, isFinished) = state.withLock { state in
            let observer = ProgressObserver(
                queue: Self.streamQueue,
                interval: interval,
                waiting: state.last.completed > 0 ? state.measured(at: now) : nil,
                onEnd: { stream.finish() },
                { stream.yield($0) }
            )
            // Under the lock, so that later reports are newer than the waiting value.
            if !state.isFinished { state.others.append(observer) }
            return (observer, state.isFinished)
        }
        observer.start(at: now)
        if isFinished { observer.end() }
    }

    /// Restarts the measurement for a body of which `count` has arrived already.
    func started(_ count: TransferCount) {
        let now = ProgressObserver.now
        state.withLock { state in
            state.rate.start(at: now, completed: count.completed)
            state.last = count
        }
    }

    func report(_ count: TransferCount) {
        let now = ProgressObserver.now
        let (handler, others, measured, isLast) = state.withLock { state in
            let isNews = count.completed > state.last.completed
            state.rate.update(completed: count.completed, at: now)
            state.last = count
            let isLast = isNews && count.total >= 0 && count.completed >= count.total
            return (state.handler, state.others, state.measured(at: now), isLast)
        }
        handler?.report(measured, at: now, isLast: isLast)
        for other in others { other.report(measured, at: now, isLast: isLast) }
    }

    var speed: TransferSpeed {
        let now = ProgressObserver.now
        return state.withLock { $0.speed(at: now) }
    }

    /// Delivers the waiting values and ends the streams. Called when the request has ended.
    func finish() {
        let (handler, others) = state.withLock { state in
            state.isFinished = true
            return (state.handler, exchange(&state.others, with: []))
        }
        handler?.end()
        for other in others { other.end() }
    }
}

extension ProgressReporter.State {
    fileprivate func measured(at now: Double) -> MeasuredCount { MeasuredCount(count: last, speed: speed(at: now)) }

    fileprivate func speed(at now: Double) -> TransferSpeed {
        TransferSpeed(
            bytesPerSecond: rate.bytesPerSecond(at: now),
            remaining: rate.remainingTime(of: last.total, at: now)
        )
    }
}

/// A closure that observes progress, its queue, and the interval of its calls. A newer value replaces one that was not
/// delivered.
final class ProgressObserver: Sendable {
    typealias Handler = @Sendable (Progress) -> Void

    private struct State {
        var waiting: MeasuredCount?
        var pacing: Pacing
    }

    private let queue: DispatchQueue
    private let body: Handler
    private let onEnd: (@Sendable () -> Void)?
    private let state: Lock<State>
    private let handoff = Handoff()

    private static let origin = ContinuousClock.now

    /// The seconds since a fixed moment of the process.
    static var now: Double { (ContinuousClock.now - origin) / .seconds(1) }

    /// Creates an observer. `start` delivers `waiting` first.
    init(
        queue: DispatchQueue,
        interval: Duration,
        waiting: MeasuredCount? = nil,
        onEnd: (@Sendable () -> Void)? = nil,
        _ body: @escaping Handler
    ) {
        self.queue = queue
        self.body = body
        self.onEnd = onEnd
        state = Lock(State(waiting: waiting, pacing: Pacing(interval: interval / .seconds(1))))
    }

    func start(at time: Double) {
        carryOut(state.withLock { $0.waiting == nil ? .none : $0.pacing.changed(at: time, isLast: true) })
    }

    func report(_ count: MeasuredCount, at time: Double, isLast: Bool) {
        let step = state.withLock { state in
            state.waiting = count
            return state.pacing.changed(at: time, isLast: isLast)
        }
        carryOut(step)
    }

    /// Delivers the last value, and calls `onEnd`. Called when the request has ended.
    func end() {
        carryOut(state.withLock { $0.pacing.ended() })
        if let onEnd { handoff(to: queue, onEnd) }
    }

    private func carryOut(_ step: Pacing.Step) {
        switch step {
        case .none: break
        case .tellNow(let ticket): handoff(to: queue) { self.tell(ticket) }
        case .tell(let delay, let ticket): handoff(to: queue, at: .now() + delay) { self.tell(ticket) }
        }
    }

    private func tell(_ ticket: Int) {
        let now = Self.now
        let count = state.withLock { state in
            state.pacing.tells(ticket, at: now) ? exchange(&state.waiting, with: nil) : nil
        }
        if let count { body(count.progress) }
    }
}

/// The speed of a transfer.
struct TransferSpeed: Sendable {
    var bytesPerSecond: Double?
    /// The remaining time in seconds.
    var remaining: Double?

    func write(to progress: Progress) {
        if let bytesPerSecond { progress.setUserInfoObject(Int(bytesPerSecond), forKey: .throughputKey) }
        if let remaining { progress.setUserInfoObject(remaining, forKey: .estimatedTimeRemainingKey) }
    }
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
