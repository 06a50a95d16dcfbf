internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Everything about a request that changes, behind the request's one lock.
struct RequestRecord {
    var identity = LazyIdentity()
    /// What users see. It changes by what they ask for, and when everything is done.
    var state = RequestState.initialized
    /// What the cancelled request ends with.
    var cancellation: CurlewError?
    var run: RunState
    /// For those that wait for a run they do not drive; made for the first of them.
    private(set) var awaitedResult: OneShot<RunResult>?
    /// What the request was asked for beside what it sends, and who wants to be told as it goes. nil where there is nothing.
    private(set) var extras: RequestExtras?
    var handlers = HandlerQueue()
    var history = RequestHistory()
    var transfer = TransferState()

    init(session: SessionLink, interceptor: __shared (any RequestInterceptor)?) {
        run = .idle(session)
        // Asked first: taking it out makes a copy, even of none.
        guard interceptor != nil, let interceptor else { return }
        ownExtras.options.adapters = [interceptor]
        ownExtras.options.retriers = [interceptor]
    }

    /// `extras`, to be written to.
    var ownExtras: RequestExtras {
        mutating get {
            if let extras { return extras }
            let made = RequestExtras()
            extras = made
            return made
        }
    }

    /// The error of the last attempt.
    var error: CurlewError? {
        get { history.attempt.error }
        set { history.attempt.error = newValue }
    }

    var isCancelled: Bool { state == .cancelled }

    /// Whether the driver has to wait before it goes on: the request is held, or nothing has asked for its result.
    var holdsDriver: Bool { state == .suspended || state == .initialized }

    /// The session, while there is something for it to do.
    var session: Session? { run.link.session }

    /// The exchange that monitors know of, until its end.
    var startedTask: TaskIdentifier? { run.exchange.flatMap { $0.stage == .over ? nil : $0.task } }

    mutating func resultToWaitFor() -> OneShot<RunResult> {
        if let awaitedResult { return awaitedResult }
        let made = OneShot<RunResult>()
        awaitedResult = made
        return made
    }
}

/// A request's attempts.
struct RequestHistory {
    /// The attempts before the last one. Empty, and not allocated, unless the request was retried.
    private var former: [Attempt] = []
    /// The last attempt.
    var attempt = Attempt()
    /// How many of the last requests are those of redirects in this attempt.
    var redirects = 0
    /// What the last one was sent with beside its `URLRequest`, where that is a redirect's.
    var redirected: RedirectedParts?
    /// The body of the last try.
    var uploadable: UploadRequest.Uploadable?

    var attempts: [Attempt] { attempt.isEmpty ? former : former + [attempt] }
    /// The request that was described, adapted or redirected to last, in whichever attempt.
    var lastRequest: VisibleRequest? { attempt.visibleRequests.last ?? lastFormer(\.visibleRequests.last) }
    /// The identifier of the last exchange, in whichever attempt.
    var lastTask: TaskIdentifier? { attempt.identifiers.last ?? lastFormer(\.identifiers.last) }
    /// The metrics of the last exchange that has ended, in whichever attempt.
    var lastMetrics: TransferMetrics? { attempt.collectedMetrics.last ?? lastFormer(\.collectedMetrics.last) }
    /// The final `URLRequest` of the last attempt that has one.
    var toldRequest: URLRequest? { (attempt.announcedRequest ?? lastFormer(\.announcedRequest))?.urlRequest }

    /// The method with which this attempt began, and the one that a redirect has left of it.
    var methods: (first: HTTPMethod?, last: HTTPMethod?) {
        let requests =
            attempt.visibleRequests.isEmpty
            ? lastFormer { $0.visibleRequests.isEmpty ? nil : $0.visibleRequests } ?? attempt.visibleRequests
            : attempt.visibleRequests
        let first = requests.count > redirects ? requests[requests.count - redirects - 1] : nil
        return (first?.urlRequest.method, requests.last?.urlRequest.method)
    }

    mutating func note(_ visible: VisibleRequest, redirected parts: RedirectedParts? = nil) {
        attempt.visibleRequests.append(visible)
        redirects = parts == nil ? 0 : redirects + 1
        redirected = parts
    }

    /// Another attempt begins. The last one is kept with its error.
    mutating func beginNextAttempt() {
        former.append(attempt)
        attempt = attempt.next()
    }

    /// Removes the former attempts between the first two and the last sixteen. They are returned to be released without
    /// the lock: their errors may hold objects of the user's.
    mutating func forgetMiddle() -> [Attempt] {
        guard former.count > 18 else { return [] }
        let middle = 2..<(former.count - 16)
        defer { former.removeSubrange(middle) }
        return Array(former[middle])
    }

    /// The value of the latest former attempt that has one.
    private func lastFormer<Value>(_ value: (Attempt) -> Value?) -> Value? {
        former.reversed().lazy.compactMap(value).first
    }
}

/// What goes along with a redirect beside the `URLRequest`. The rest stays behind with its origin.
// An object: few requests are redirected, and each has room for it.
final class RedirectedParts: Sendable {
    let authentication: TransferAuthentication?
    /// The session's fields.
    let defaultHeaders: HTTPHeaders
    /// Whether it has the body with which the attempt began.
    let keepsBody: Bool

    init(_ next: TransferRequest, sendsSameBody: Bool, after former: RedirectedParts?) {
        authentication = next.options.authentication
        defaultHeaders = next.defaultHeaders?.headers ?? HTTPHeaders()
        let hasBody = if case .none = next.body { false } else { true }
        keepsBody = hasBody && sendsSameBody && former?.keepsBody != false
    }
}

/// How a request knows its session.
enum SessionLink {
    /// Cold or running: the session must not go.
    case strong(Session)
    /// Waiting on the session's shelf: the session holds the request.
    case shelved(WeakSession)
    case none

    var session: Session? {
        switch self {
        case .strong(let session): session
        case .shelved(let weak): weak.session
        case .none: nil
        }
    }
}

/// An object, because few requests wait on a shelf, and a link with a weak reference in it is expensive to copy.
final class WeakSession: Sendable {
    private struct Reference {
        weak var session: Session?
    }

    private let reference: Lock<Reference>

    var session: Session? { reference.withLock { $0.session } }

    init(session: Session) { reference = Lock(Reference(session: session)) }
}
