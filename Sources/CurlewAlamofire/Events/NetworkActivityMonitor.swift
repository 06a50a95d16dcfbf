public import Curlew
internal import CurlewLocks
public import Dispatch

/// Says whether the network is in use, for status bars and spinners.
///
///     let activity = NetworkActivityMonitor()
///     let session = Session(eventMonitors: [activity])
///     for await isActive in activity.changes { spinner.isHidden = !isActive }
///
/// Short requests show nothing, and between requests that follow each other the sign stays. It counts every request that
/// has been resumed and has not finished; a monitor may be given to several sessions.
public final class NetworkActivityMonitor: EventMonitor {
    /// Runs a closure after a while.
    public typealias Timer = @Sendable (_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> Void

    /// Where events and the sign's changes are handled.
    public let queue: DispatchQueue
    /// False: activity does not depend on bytes.
    public let wantsBodies = false
    /// How long requests run before the sign appears.
    public let activationDelay: Duration
    /// How long the sign stays after the last request.
    public let completionDelay: Duration

    private let timer: Timer
    private let state = Lock(State())

    private struct State {
        var activity = ActivityState()
        /// Those that are counted: a request may end that was resumed before the monitor was there.
        var running: Set<RequestKey> = []
        var onChange: (@Sendable (Bool) -> Void)?
        var streams: [Int: StreamOf<Bool>.Continuation] = [:]
        var lastStream = 0
        /// What has yet to be told, the oldest first.
        var untold: [Change] = []
        /// A thread is telling it.
        var isTelling = false

        /// The next change to tell; nil where there is none, or another call is telling one.
        mutating func takeChange() -> Change? {
            guard !isTelling, !untold.isEmpty else { return nil }
            isTelling = true
            return untold.removeFirst()
        }
    }

    /// A value, and who hears it.
    private struct Change {
        let isActive: Bool
        var onChange: (@Sendable (Bool) -> Void)?
        let streams: [StreamOf<Bool>.Continuation]
    }

    /// `timer` is the clock; nil is the system's.
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

    /// How many requests are running.
    public var requestCount: Int { state.withLock { $0.activity.count } }

    /// Whether the sign is to be seen.
    public var isActive: Bool { state.withLock { $0.activity.isShown } }

    /// Whether the sign may be seen. Counting goes on.
    public var isEnabled: Bool {
        get { state.withLock { $0.activity.isEnabled } }
        set { apply { $0.activity.enabled(newValue) } }
    }

    /// Called with every change of `isActive`. The last closure set is called.
    public func onChange(_ action: (@Sendable (_ isActive: Bool) -> Void)?) {
        // What was replaced goes without the lock.
        _ = state.withLock { state in
            defer { state.onChange = action }
            return state.onChange
        }
    }

    /// Every change of `isActive`, the present value first. A reader that lags far behind misses the oldest ones.
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
                // A change that comes now is told after it.
                state.untold.append(Change(isActive: state.activity.isShown, streams: [continuation]))
            }
            tell()
        }
    }

    /// Counts something that is no request of Curlew's.
    public func increment() { apply { $0.activity.requestStarted() } }

    /// Ends what `increment()` has counted.
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

    /// Tells changes in their order: one thread at a time, which also tells those that come meanwhile. With two, the last value
    /// told could be an old one.
    private func tell() {
        while let change = state.withLock({ $0.takeChange() }) {
            change.onChange?(change.isActive)
            for stream in change.streams { stream.yield(change.isActive) }
            state.withLock { $0.isTelling = false }
        }
    }

    private func delayPassed(_ turn: Int) { apply { $0.activity.delayPassed(turn) } }
}
