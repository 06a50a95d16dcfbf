internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// Tells closures and streams how far a transfer has come.
///
/// Counts that arrive faster than a closure's queue takes them are merged: the last one always comes.
final class ProgressReporter: Sendable {
    typealias Handler = @Sendable (Progress) -> Void

    fileprivate struct State {
        /// The one closure that users set; the last one counts.
        var handler: ProgressObserver?
        /// What keeps users' own `Progress` objects up to date.
        var others: [ProgressObserver] = []
        var streams: [AsyncStream<Progress>.Continuation] = []
        var rate = TransferRate()
        var last = TransferCount()
        var isFinished = false
    }

    private let state = Lock(State())
    private static let origin = ContinuousClock.now

    private static var now: Double { (ContinuousClock.now - origin) / .seconds(1) }

    /// Of several closures the last one set is called.
    func setHandler(queue: DispatchQueue, _ body: @escaping Handler) {
        let observer = ProgressObserver(queue: queue, body)
        _ = state.withLock { exchange(&$0.handler, with: observer) }
    }

    /// Calls this closure too.
    func addObserver(queue: DispatchQueue, _ body: @escaping Handler) {
        let observer = ProgressObserver(queue: queue, body)
        state.withLock { $0.others.append(observer) }
    }

    func add(_ stream: AsyncStream<Progress>.Continuation) {
        let isFinished = state.withLock { state in
            if !state.isFinished { state.streams.append(stream) }
            return state.isFinished
        }
        if isFinished { stream.finish() }
    }

    /// A body begins, with so much of it there already.
    func started(_ count: TransferCount) {
        let now = Self.now
        state.withLock { state in
            state.rate.start(at: now, completed: count.completed)
            state.last = count
        }
    }

    func report(_ count: TransferCount) {
        let now = Self.now
        let (handler, others, streams, speed) = state.withLock { state in
            state.rate.update(completed: count.completed, at: now)
            state.last = count
            return (state.handler, state.others, state.streams, state.speed(at: now))
        }
        let measured = MeasuredCount(count: count, speed: speed)
        for stream in streams { stream.yield(measured.progress) }
        handler?.report(measured)
        for other in others { other.report(measured) }
    }

    /// How fast it is, now.
    var speed: TransferSpeed {
        let now = Self.now
        return state.withLock { $0.speed(at: now) }
    }

    /// The request has ended: its streams end too.
    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            return exchange(&state.streams, with: [])
        }
        for stream in streams { stream.finish() }
    }
}

extension ProgressReporter.State {
    fileprivate func speed(at now: Double) -> TransferSpeed {
        TransferSpeed(
            bytesPerSecond: rate.bytesPerSecond(at: now),
            remaining: rate.remainingTime(of: last.total, at: now)
        )
    }
}

/// One closure and the queue that it is called on. What it has not been told yet is replaced by what is newer.
private final class ProgressObserver: Sendable {
    private struct State {
        var waiting: MeasuredCount?
        var isScheduled = false
    }

    private let queue: DispatchQueue
    private let body: ProgressReporter.Handler
    private let state = Lock(State())
    private let handoff = Handoff()

    init(queue: DispatchQueue, _ body: @escaping ProgressReporter.Handler) {
        self.queue = queue
        self.body = body
    }

    func report(_ count: MeasuredCount) {
        let mustSchedule = state.withLock { state in
            state.waiting = count
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { handoff(to: queue) { self.deliver() } }
    }

    private func deliver() {
        let count = state.withLock { state in
            state.isScheduled = false
            return exchange(&state.waiting, with: nil)
        }
        if let count { body(count.progress) }
    }
}
