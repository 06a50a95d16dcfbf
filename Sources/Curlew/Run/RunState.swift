internal import CurlewCore
internal import CurlewLocks

/// How far a request's run has come. Nothing else says whether there is one.
enum RunState {
    /// Nothing has asked for the result.
    case idle(SessionLink)
    /// Nothing has asked for it yet, but the first attempt is being described.
    case prepared(SessionLink, Preparation)
    case running(ActiveRun)
    case ended(RunResult)

    var active: ActiveRun? {
        switch self {
        case .running(let active): active
        case .idle, .prepared, .ended: nil
        }
    }

    var result: RunResult? {
        switch self {
        case .ended(let result): result
        case .idle, .prepared, .running: nil
        }
    }

    var preparation: Preparation? {
        switch self {
        case .prepared(_, let preparation): preparation
        case .running(let active): active.preparation
        case .idle, .ended: nil
        }
    }

    /// The exchange in flight, the last one of the run, or one that was made ahead.
    var exchange: ActiveExchange? {
        switch self {
        case .prepared(_, let preparation): preparation.exchange
        case .running(let active): active.exchange
        case .idle, .ended: nil
        }
    }

    var link: SessionLink {
        switch self {
        case .idle(let link), .prepared(let link, _): link
        case .running(let active): active.link
        case .ended: .none
        }
    }

    /// The run begins.
    mutating func begins() {
        switch self {
        case .idle(let link): self = .running(ActiveRun(link, nil))
        case .prepared(let link, let preparation): self = .running(ActiveRun(link, preparation))
        case .running, .ended: break
        }
    }

    /// An exchange begins, unless the run has ended. What it takes the place of is returned, to go without the lock.
    func begins(_ next: ActiveExchange) -> FormerExchange? {
        let former = FormerExchange(value: exchange)
        switch self {
        case .prepared(_, let preparation): preparation.exchange = next
        case .running(let active): active.exchange = next
        case .idle, .ended: return nil
        }
        return former
    }

    /// The exchange is over: what it knew of is returned, to go without the lock.
    func endsExchange() -> ActiveExchange? { active?.exchange?.ends() }

    /// Changes how the request knows its session, before its end.
    mutating func link(_ link: SessionLink) {
        switch self {
        case .idle: self = .idle(link)
        case .prepared(_, let preparation): self = .prepared(link, preparation)
        case .running(let active): active.link = link
        case .ended: break
        }
    }
}

/// What others reach of a run in progress, to cancel it, to hold it, or to wait for its result. Touched under its request's
/// lock alone.
final class ActiveRun {
    var link: SessionLink
    var preparation: Preparation?
    /// The exchange in flight, or the last one.
    var exchange: ActiveExchange?
    /// The driver's task, where Curlew started it.
    var ownedTask: Task<Void, Never>?
    /// Foreign code at work, where the driver's task is a user's.
    var foreignCall: ForeignWork?
    /// The driver waits for it: the request is suspended.
    var hold: OneShot<Void>?

    init(_ link: SessionLink, _ preparation: Preparation?) {
        self.link = link
        self.preparation = preparation
        exchange = preparation?.exchange
    }
}

/// The exchange before the one that begins, if there was one. Transports are not Curlew's alone: its control can be an object
/// of the user's.
struct FormerExchange {
    fileprivate let value: ActiveExchange?
}

/// One exchange, as its request knows it.
struct ActiveExchange {
    enum Stage {
        /// Made ahead of the request's start.
        case created
        case running
        case over
    }

    let task: TaskIdentifier
    var stage: Stage
    /// What ends and holds it.
    var control: (any TransferControl)?
    /// What collects it.
    var delegate: (any TaskDelegate)?
    /// Whether it stands still by what it was told last.
    var isSuspended = false
    /// A thread is telling it something.
    var isBeingTold = false

    init(_ task: TaskIdentifier, _ stage: Stage) {
        self.task = task
        self.stage = stage
    }

    /// Keeps nothing but its name: what it knew of is returned.
    mutating func ends() -> ActiveExchange {
        var known = ActiveExchange(task, .over)
        swap(&known, &self)
        return known
    }
}
