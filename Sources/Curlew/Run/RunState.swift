internal import CurlewCore
internal import CurlewLocks

/// The state of a request's run. It is the only record of whether there is one.
enum RunState {
    /// The result has not been asked for.
    case idle(SessionLink)
    case running(ActiveRun)
    case ended(RunResult)

    var active: ActiveRun? {
        switch self {
        case .running(let active): active
        case .idle, .ended: nil
        }
    }

    var result: RunResult? {
        switch self {
        case .ended(let result): result
        case .idle, .running: nil
        }
    }

    /// The exchange in flight, or the last one of the run.
    var exchange: ActiveExchange? { active?.exchange }

    var link: SessionLink {
        switch self {
        case .idle(let link): link
        case .running(let active): active.link
        case .ended: .none
        }
    }

    /// Begins the run. Does nothing if it has begun.
    mutating func begins() {
        switch self {
        case .idle(let link): self = .running(ActiveRun(link))
        case .running, .ended: break
        }
    }

    /// Begins an exchange, and returns the former one, to be released without the lock. Returns `nil` if there is no
    /// run.
    func begins(_ next: ActiveExchange) -> FormerExchange? {
        guard let active else { return nil }
        defer { active.exchange = next }
        return FormerExchange(value: active.exchange)
    }

    /// Ends the exchange, and returns its parts, to be released without the lock.
    func endsExchange() -> ActiveExchange? { active?.exchange?.ends() }

    /// Changes the link to the session, before the run has ended.
    mutating func link(_ link: SessionLink) {
        switch self {
        case .idle: self = .idle(link)
        case .running(let active): active.link = link
        case .ended: break
        }
    }
}

/// The parts of a run in progress that other threads use to cancel it, to suspend it, or to wait for its result.
/// Protected by the request's lock.
final class ActiveRun {
    var link: SessionLink
    /// The exchange in flight, or the last one.
    var exchange: ActiveExchange?
    /// The driver's task, if Curlew started it.
    var ownedTask: Task<Void, Never>?
    /// User code that is running, if the driver's task is the user's.
    var foreignCall: ForeignWork?
    /// The driver waits for it while the request is suspended.
    var hold: OneShot<Void>?

    init(_ link: SessionLink) { self.link = link }
}

/// The exchange that another one has replaced, if there was one. Releasing it may run user code, because its control
/// may belong to a user's transport.
struct FormerExchange {
    fileprivate let value: ActiveExchange?
}

/// An exchange, as its request knows it.
struct ActiveExchange {
    enum Stage {
        /// It began while its request was suspended. Nothing has been sent.
        case waiting
        case running
        case over
    }

    let task: TaskIdentifier
    var stage: Stage
    /// Cancels, suspends and resumes the exchange.
    var control: (any TransferControl)?
    /// Collects the response.
    var delegate: (any TaskDelegate)?
    /// Whether the control was last told to suspend.
    var isSuspended = false
    /// Whether a thread is calling the control.
    var isBeingTold = false

    init(_ task: TaskIdentifier, _ stage: Stage) {
        self.task = task
        self.stage = stage
    }

    /// Ends the exchange: it keeps its identifier only. Returns its parts.
    mutating func ends() -> ActiveExchange {
        var known = ActiveExchange(task, .over)
        swap(&known, &self)
        return known
    }
}
