public import Curlew
internal import CurlewLocks
public import Dispatch

/// Reports whether the network is in use, for status bars and spinners.
///
///     let activity = NetworkActivityMonitor()
///     let session = Session(eventMonitors: [activity])
///     for await isActive in activity.changes { spinner.isHidden = !isActive }
///
/// Short requests do not show the sign, and it stays between requests that follow each other. The monitor counts every
/// request that has been resumed and has not finished. It may be given to several sessions.
public final class NetworkActivityMonitor: EventMonitor {
    /// Runs a closure after a delay.
    public typealias Timer = @Sendable (_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> Void

    /// The queue on which the monitor receives events. The default timer runs its closures on it too.
    public let queue: DispatchQueue
    /// Always false: activity does not depend on bytes.
    public let wantsBodies = false
    /// The time that requests run before the sign appears.
    public let activationDelay: Duration
    /// The time that the sign stays after the last request.
    public let completionDelay: Duration

    private let timer: Timer
    private let state = Lock(State())

    private struct State {
        var activity = ActivityState()
        /// The requests that are counted. A request that was resumed before the monitor was added is not among them,
        /// and its end must not lower the count.
        var running: Set<RequestKey> = []
        var onChange: (@Sendable (Bool) -> Void)?
        var streams: [Int: StreamOf<Bool>.Continuation] = [:]
        var lastStream = 0
        /// The changes that have not been delivered yet, oldest first.
        var untold: [Change] = []
        /// Whether a thread is delivering a change.
        var isTelling = false

        /// Returns the next change to deliver, or `nil` if there is none or another thread is delivering one.
        mutating func takeChange() -> Change? {
            guard !isTelling, !untold.isEmpty else { return nil }
            isTelling = true
            return untold.removeFirst()
        }
    }

    /// A value, and the closure and the streams that receive it.
    private struct Change {
        let isActive: Bool
        var onChange: (@Sendable (Bool) -> Void)?
        let streams: [StreamOf<Bool>.Continuation]
    }

    /// Creates a monitor. `timer` measures the delays; if it is `nil`, the system's clock does.
    public init(
        activationDelay: Duration = .seconds(1),
        completionDelay: Duration = .milliseconds(170),
        queue: DispatchQueue = DispatchQueue(label: "org.curlew.activity"),
        timer: Timer? = nil
    ) {
        self.activationDelay = activationDelay
        self.completionDelay = completionDelay
        self.queue = queue
        self.timer =
            timer ?? { delay, action in
                let nanoseconds = max(0, delay / .nanoseconds(1))
                queue.asyncAfter(deadline: .now() + .nanoseconds(Int(min(nanoseconds, 1e18)))) { action() }
            }
    }

    /// The number of running requests.
    public var requestCount: Int { state.withLock { $0.activity.count } }

    /// Whether the sign is shown.
    public var isActive: Bool { state.withLock { $0.activity.isShown } }

    /// Whether the sign may be shown. While it may not, requests are still counted.
    public var isEnabled: Bool {
        get { state.withLock { $0.activity.isEnabled } }
        set { apply { $0.activity.enabled(newValue) } }
    }

    /// Sets the closure that is called with every change of `isActive`. It replaces the previous one.
    public func onChange(_ action: (@Sendable (_ isActive: Bool) -> Void)?) {
        // The replaced closure is released without the lock, because its release may run user code.
        _ = state.withLock { state in
            defer { state.onChange = action }
            return state.onChange
        }
    }

    /// A stream of `isActive`: the present value, then every change. A reader that falls more than 100 values back
    /// misses the oldest ones.
    public var changes: StreamOf<Bool> {
        let number = state.withLock { state in
            state.lastStream += 1
            return state.lastStream
        }
        return StreamOf(
            bufferingPolicy: .bufferingNewest(100),
            onTermination: { [weak self] in _ = self?.state.withLock { $0.streams.removeValue(forKey: number) } }
        ) { continuation in
            state.withLock { state in
                state.streams[number] = continuation
                // A change from here on is delivered after this value.
                state.untold.append(Change(isActive: state.activity.isShown, streams: [continuation]))
            }
            tell()
        }
    }

    /// Counts an activity that is not a request of Curlew. Call `decrement()` when it ends.
    public func increment() { apply { $0.activity.requestStarted() } }

    /// Ends an activity that `increment()` has counted.
    public func decrement() { apply { $0.activity.requestEnded() } }

    public func requestDidResume(_ request: Request) { started(request) }

    public func requestIsRetrying(_ request: Request) { started(request) }

    public func requestDidSuspend(_ request: Request) { ended(request) }

    public func requestDidFinish(_ request: Request) { ended(request) }

    private func started(_ request: Request) {
        apply { $0.running.insert(RequestKey(request)).inserted ? $0.activity.requestStarted() : .nothing }
    }

    private func ended(_ request: Request) {
        apply { $0.running.remove(RequestKey(request)) == nil ? .nothing : $0.activity.requestEnded() }
    }

    private func apply(_ event: (inout State) -> ActivityState.Action) {
        let action = state.withLock { state in
            let action = event(&state)
            switch action {
            case .nothing, .waitToStart, .waitToEnd: break
            case .show, .hide:
                let streams = Array(state.streams.values)
                state.untold.append(Change(isActive: action == .show, onChange: state.onChange, streams: streams))
            }
            return action
        }
        switch action {
        case .nothing: break
        case .waitToStart(let turn): timer(activationDelay) { [weak self] in self?.delayPassed(turn) }
        case .waitToEnd(let turn): timer(completionDelay) { [weak self] in self?.delayPassed(turn) }
        case .show, .hide: tell()
        }
    }

    /// Delivers the changes in their order. One thread at a time delivers, and also delivers the changes that other
    /// threads add meanwhile. If two threads did, an older value could be delivered last.
    private func tell() {
        while let change = state.withLock({ $0.takeChange() }) {
            change.onChange?(change.isActive)
            for stream in change.streams { stream.yield(change.isActive) }
            state.withLock { $0.isTelling = false }
        }
    }

    private func delayPassed(_ turn: Int) { apply { $0.activity.delayPassed(turn) } }
}
