internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

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
