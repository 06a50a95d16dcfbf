internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// Everything about a request that changes, behind the request's one lock.
struct RequestRecord {
    var identity = LazyIdentity()
    var machine = RequestStateMachine()
    var session: SessionLink
    /// What the request was asked for beside what it sends, and who wants to be told as it goes. nil where there is nothing.
    private(set) var extras: RequestExtras?
    var handlers = HandlerQueue()

    // What has happened.
    var requests = Sequel<VisibleRequest>()
    /// So many of them there were when the last final one was told.
    var requestsTold = 0
    var tasks = Sequel<TaskIdentifier>()
    var metrics = Sequel<TransferMetrics>()
    var response: LazyResponse?
    var body: ReceivedBody = .none
    /// What has come of a body that is kept in memory, while it comes.
    var incoming: Data?
    var error: CurlewError?
    var acceptedHead: AcceptedHead?
    var uploadable: UploadRequest.Uploadable?
    var retryCount = 0
    var upload = TransferCount()
    var download = TransferCount()
    /// The identifier of the attempt in flight.
    var task: TaskIdentifier?
    var taskState = TaskState.none
    /// What was done ahead of the start.
    var preparation: Preparation?

    // The run.
    /// The way to the exchange in flight.
    var control: (any TransferControl)?
    /// Whether it stands still by what it was told last.
    var controlIsSuspended = false
    /// No thread is about to tell it something.
    var controlIsTold = true
    /// The driver's task where Curlew started it.
    var ownedTask: Task<Void, Never>?
    /// Foreign code at work for the driver, where the driver's task is a user's own.
    var foreignWork: ForeignWork?
    /// The driver, while it waits for the end of a suspension.
    var heldDriver: Driver?
    var joiners = Joiners()
    var result: RunResult?
    /// The task that hands a streamed body to handlers.
    var pump: Task<Void, Never>?
    /// Whether a reader has started the run of a streamed body.
    var isBeingRead = false
    /// What `cancel` was given as the reason, for a run that has yet to notice.
    var cancellationError: CurlewError?

    /// The final `URLRequest` of the last try that has one.
    var toldRequest: URLRequest? { requestsTold > 0 ? requests[requestsTold - 1]?.urlRequest : nil }

    /// The exchange that monitors know of.
    var startedTask: TaskIdentifier? {
        switch taskState {
        case .none: nil
        case .created, .running: task
        }
    }

    /// The same to be written to.
    var ownExtras: RequestExtras {
        mutating get {
            if let extras { return extras }
            let made = RequestExtras()
            extras = made
            return made
        }
    }

    /// What was done ahead, once.
    mutating func takePreparation() -> Result<DescribedRequest, CurlewError>? {
        defer { preparation = nil }
        return preparation?.result
    }

    typealias Driver = UnsafeContinuation<Void, Never>

    init(session: SessionLink, interceptor: __shared (any RequestInterceptor)?) {
        self.session = session
        // Asked first: taking it out makes a copy, even of none.
        guard interceptor != nil, let interceptor else { return }
        ownExtras.options.adapters = [interceptor]
        ownExtras.options.retriers = [interceptor]
    }
}

/// What monitors know of the exchange in flight.
enum TaskState {
    /// There is none.
    case none
    /// It was made ahead of the request's start.
    case created
    case running
}

/// How a request knows its session.
enum SessionLink {
    /// Cold or running: the session must not go.
    case strong(Session)
    /// Waiting on the session's shelf: the session holds the request.
    case shelved(WeakSession)
    case none

    var isShelved: Bool {
        switch self {
        case .shelved: true
        case .strong, .none: false
        }
    }

    var session: Session? {
        switch self {
        case .strong(let session): session
        case .shelved(let weak): weak.session
        case .none: nil
        }
    }
}

/// An object, because few requests wait on a shelf, and a link with a weak reference in it is dear to copy.
// SAFETY: written once, before anybody else has it.
final class WeakSession: @unchecked Sendable {
    private(set) weak var session: Session?

    init(session: Session) { self.session = session }
}

/// How many bytes of how many, in one direction. A total of -1 is unknown.
struct TransferCount: Sendable {
    var completed: Int64 = 0
    var total: Int64 = 0

    /// What users see. A snapshot: nobody changes it behind their back.
    var progress: Progress {
        let progress = Progress(totalUnitCount: total)
        progress.completedUnitCount = completed
        return progress
    }
}

/// Where the bytes of a response went.
enum ReceivedBody: Sendable {
    case none
    case data(Data)
    case file(URL)
    /// Handed on piece by piece.
    case streamed

    var data: Data? {
        switch self {
        case .data(let data): data
        case .none, .file, .streamed: nil
        }
    }

    var fileURL: URL? {
        switch self {
        case .file(let url): url
        case .none, .data, .streamed: nil
        }
    }
}
