internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// Tells closures and streams how far a transfer has come.
///
/// Counts that arrive faster than a listener wants them, or than its queue takes them, are merged: the last one always
/// comes.
final class ProgressReporter: Sendable {
    /// Twenty times a second.
    static let defaultInterval = Duration.milliseconds(50)

    fileprivate struct State {
        /// The one closure that users set; the last one counts.
        var handler: ProgressObserver?
        /// Users' own `Progress` objects, and streams.
        var others: [ProgressObserver] = []
        var rate = TransferRate()
        var last: TransferCount
        var isFinished = false
    }

    private let state: Lock<State>

    /// In order, so that a stream's last value comes before its end.
    private static let streamQueue = DispatchQueue(label: "curlew.progress")

    /// `last` is what there was to tell before.
    init(last: TransferCount) { state = Lock(State(last: last)) }

    /// Of several closures the last one set is called.
    func setHandler(every interval: Duration, queue: DispatchQueue, _ body: @escaping ProgressObserver.Handler) {
        let observer = ProgressObserver(queue: queue, interval: interval, body)
        // The old one, which holds a closure of the user's, is released outside the lock.
        _ = state.withLock { exchange(&$0.handler, with: observer) }
    }

    /// Calls this closure too.
    func addObserver(queue: DispatchQueue, _ body: @escaping ProgressObserver.Handler) {
        let observer = ProgressObserver(queue: queue, interval: Self.defaultInterval, body)
        state.withLock { $0.others.append(observer) }
    }

    /// A stream begins with the last value that there was, also when the request has ended.
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
            // What comes from here on is newer than what waits.
            if !state.isFinished { state.others.append(observer) }
            return (observer, state.isFinished)
        }
        observer.start(at: now)
        if isFinished { observer.end() }
    }

    /// A body begins, with so much of it there already.
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

    /// How fast it is, now.
    var speed: TransferSpeed {
        let now = ProgressObserver.now
        return state.withLock { $0.speed(at: now) }
    }

    /// The request has ended: what waits is told, and streams end.
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
