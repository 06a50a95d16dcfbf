public import CurlewCore
internal import CurlewLocks
internal import Foundation
public import FoundationNetworking

// The history of a request: its attempts, and the last value of each kind.
extension Request {
    /// The attempts so far, oldest first: one, and another for each retry. Empty before the request has begun.
    ///
    /// A request that failed before it was sent has an attempt with an `error` and without `tasks`. Of a request that
    /// is retried more than 18 times, the first two and the last 17 attempts are kept.
    public var attempts: [Attempt] { record.withLock { $0.history.attempts } }

    /// The last `URLRequest`, after adaptation.
    public var request: URLRequest? { record.withLock { $0.history.lastRequest }?.urlRequest }
    /// The identifier of the exchange in flight. `nil` if there is none, for instance between two attempts.
    public var task: TaskIdentifier? { record.withLock { $0.currentTask } }
    /// The metrics of the last exchange.
    public var metrics: TransferMetrics? { record.withLock { $0.history.lastMetrics } }

    /// The head of the last response.
    public var response: HTTPURLResponse? { record.withLock { $0.response }?.value }
    /// The head of the last response, as received.
    public var head: ResponseHead? { record.withLock { $0.response }?.head }

    /// The trailer fields of the last response, which follow its body: with HTTP/1.1 chunked bodies and HTTP/2.
    ///
    /// `nil` until the response has ended, and if it did not end completely. Empty if it ended without trailer fields,
    /// and for a response from the cache, which stores none. A stream has them after the last element of its body.
    /// Fields that are needed before the body, such as `Content-Length`, `Set-Cookie` and `WWW-Authenticate`, are
    /// dropped (RFC 9110, 6.5.1).
    public var trailers: HTTPHeaders? {
        record.withLock { $0.exchange?.withLock { $0.trailers } }.map(TrailerFields.permitted)
    }

    /// The number of retries.
    public var retryCount: Int { record.withLock { $0.history.lastAttempt.number } }
    /// The error with which the request ended, or `nil`.
    public var error: CurlewError? { record.withLock { $0.error } }

    /// The first and the last method of this attempt. Another attempt would begin with the first.
    var methodsOfAttempt: Set<HTTPMethod> {
        let (first, last) = record.withLock { $0.history.methods }
        return Set([first, last].compactMap(\.self))
    }

    /// Whether a server has carried out a request that must not be repeated, and redirected to its result.
    var wasCarriedOut: Bool {
        let (first, last) = record.withLock { $0.history.methods }
        return first?.isIdempotent == false && first != last
    }

    /// Whether an earlier attempt may have taken effect, and the server would not recognize another one.
    var mayHaveTakenEffect: Bool {
        let history = record.withLock(\.history)
        guard history.methods.first?.isIdempotent == false else { return false }
        let field = history.lastFinalRequest?.value(forHTTPHeaderField: "Idempotency-Key")
        if field != nil || hasIdempotencyKey { return false }
        // With these statuses, the server has not carried out the request.
        let refusals = [401, 407, 421, 425]
        return history.attempts.contains { attempt in
            guard !attempt.identifiers.isEmpty, let error = attempt.error, !error.isSafeToRetry else { return false }
            return !attempt.redirects.isEmpty || !refusals.contains(error.responseCode ?? 0)
        }
    }
}

/// One attempt of a request: the requests that it made, redirects included, and how it ended.
///
///     for attempt in request.attempts {
///         print(attempt.number, attempt.tasks.count, attempt.metrics.last?.duration ?? 0, attempt.error as Any)
///     }
///
/// A value that does not change after `request.attempts` was read. A redirect and an answered challenge continue their
/// attempt; a retry begins the next one.
public struct Attempt: Sendable {
    /// The number of the attempt, counted from 0 as in `error.attempt`, `metrics.attempt` and `request.retryCount`.
    public private(set) var number = 0
    /// The error with which the attempt failed. `nil` if it has not failed. The error of the last attempt is also the
    /// request's `error`.
    public internal(set) var error: CurlewError?
    /// The decision of the session's resilience. `nil` without any, if the session only hedges, and for a request that
    /// only the cache may answer.
    public internal(set) var admission: Admission?
    var snapshots = ShortList<RequestSnapshot>()
    /// The number of `snapshots` when the last of them became final, and was reported.
    package var countWhenFinal = 0
    var identifiers = ShortList<TaskIdentifier>()
    var collectedMetrics = ShortList<TransferMetrics>()

    /// The `URLRequest`s of the attempt in order: the described one, the adapted one if there are adapters, and one for
    /// each redirect. A resumed download that starts over continues its attempt, and its requests are appended. Empty
    /// if the attempt failed before any was made.
    public var requests: [URLRequest] { snapshots.all.map(\.urlRequest) }
    /// The redirects that were followed, oldest first. Complete when the exchange after the last redirect has ended.
    public var redirects: [RedirectHop] { collectedMetrics.last?.redirects ?? [] }
    /// The identifiers of the attempt's exchanges: the first, one for each redirect and each challenge that the
    /// session has answered, and one more if a resumed download starts over. A request that is repeated with stored
    /// credentials keeps its identifier. Empty if no exchange has begun.
    public var tasks: [TaskIdentifier] { identifiers.all }
    /// The metrics of the exchanges that have ended.
    public var metrics: [TransferMetrics] { collectedMetrics.all }

    /// Whether the attempt has neither a request nor an error.
    var isEmpty: Bool { snapshots.isEmpty && error == nil }

    /// The final request of the attempt, before redirects. `nil` before it is final.
    var finalRequest: RequestSnapshot? { countWhenFinal > 0 ? snapshots[countWhenFinal - 1] : nil }

    /// Returns the attempt after this one, still empty.
    func next() -> Attempt {
        var next = Attempt()
        next.number = number + 1
        return next
    }
}

extension Attempt: CustomStringConvertible, CustomReflectable {
    /// The attempt's number, method, URL without secrets, and error.
    public var description: String {
        var text = "attempt \(number)"
        if let last = snapshots.last, let url = last.url {
            text += ": \(last.method.rawValue) \(Redaction.redacted(url).absoluteString)"
        }
        return error.map { "\(text): \($0)" } ?? text
    }

    /// Empty: debuggers print every stored property of a type without a mirror, secrets included.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A request's attempts.
struct RequestHistory {
    /// The attempts before the last one. Empty unless the request was retried.
    private var former: [Attempt] = []
    /// The last attempt.
    var lastAttempt = Attempt()
    /// How many of the attempt's last snapshots are targets of redirects.
    private var redirectCount = 0
    /// The parts of the last request besides its `URLRequest`, if a redirect led to it.
    private(set) var redirectedParts: RedirectedParts?

    var attempts: [Attempt] { lastAttempt.isEmpty ? former : former + [lastAttempt] }
    /// The request that was last described, adapted or redirected to, in any attempt.
    var lastRequest: RequestSnapshot? { lastAttempt.snapshots.last ?? lastFormer(\.snapshots.last) }
    /// The identifier of the last exchange, in any attempt.
    var lastTask: TaskIdentifier? { lastAttempt.identifiers.last ?? lastFormer(\.identifiers.last) }
    /// The metrics of the last exchange that has ended, in any attempt.
    var lastMetrics: TransferMetrics? { lastAttempt.collectedMetrics.last ?? lastFormer(\.collectedMetrics.last) }
    /// The final `URLRequest` of the last attempt that has one.
    var lastFinalRequest: URLRequest? { (lastAttempt.finalRequest ?? lastFormer(\.finalRequest))?.urlRequest }

    /// The method with which this attempt began, and the method after its redirects.
    var methods: (first: HTTPMethod?, last: HTTPMethod?) {
        let requests =
            lastAttempt.snapshots.isEmpty
            ? lastFormer { $0.snapshots.isEmpty ? nil : $0.snapshots } ?? lastAttempt.snapshots
            : lastAttempt.snapshots
        let first = requests.count > redirectCount ? requests[requests.count - redirectCount - 1] : nil
        return (first?.method, requests.last?.method)
    }

    mutating func append(_ snapshot: RequestSnapshot, redirected parts: RedirectedParts? = nil) {
        lastAttempt.snapshots.append(snapshot)
        redirectCount = parts == nil ? 0 : redirectCount + 1
        redirectedParts = parts
    }

    /// Begins another attempt. The last one is kept with its error.
    mutating func beginNextAttempt() {
        former.append(lastAttempt)
        lastAttempt = lastAttempt.next()
    }

    /// Removes the former attempts between the first two and the last sixteen. Returns them, to be released without the
    /// lock: their errors may hold users' objects.
    mutating func removeMiddleAttempts() -> [Attempt] {
        guard former.count > 18 else { return [] }
        let middle = 2..<(former.count - 16)
        defer { former.removeSubrange(middle) }
        return Array(former[middle])
    }

    /// Returns the value of the latest former attempt that has one.
    private func lastFormer<Value>(_ value: (Attempt) -> Value?) -> Value? {
        former.reversed().lazy.compactMap(value).first
    }
}

/// The parts of a redirected request besides its `URLRequest`. Parts that belong to the previous origin are removed.
// A class, so that an absent value costs one pointer in every request.
final class RedirectedParts: Sendable {
    let authentication: TransferAuthentication?
    /// The session's fields.
    let defaultHeaders: HTTPHeaders
    /// Whether the body is the one with which the attempt began.
    let keepsBody: Bool

    init(_ next: TransferRequest, sendsSameBody: Bool, after former: RedirectedParts?) {
        authentication = next.options.authentication
        defaultHeaders = next.defaultHeaders?.headers ?? HTTPHeaders()
        let hasBody = if case .none = next.body { false } else { true }
        keepsBody = hasBody && sendsSameBody && former?.keepsBody != false
    }
}

extension Request {
    /// Adds a request to the history, for adapters, monitors and users to see.
    func addToHistory(_ snapshot: RequestSnapshot) { record.withLock { $0.history.append(snapshot) } }

    /// Adds the target of a redirect to the history, with the parts that are sent besides its `URLRequest`.
    func addToHistory(redirect snapshot: RequestSnapshot, as next: TransferRequest, sendsSameBody: Bool) {
        record.withLock { record in
            let former = record.history.redirectedParts
            let parts = RedirectedParts(next, sendsSameBody: sendsSameBody, after: former)
            record.history.append(snapshot, redirected: parts)
        }
    }
}

/// A list for the events of an attempt. It usually has one element or two, for which it allocates nothing.
struct ShortList<Element: Sendable>: Sendable {
    private(set) var first: Element?
    private var second: Element?
    private var others: [Element] = []

    var isEmpty: Bool { first == nil }
    var count: Int { first == nil ? 0 : second == nil ? 1 : 2 + others.count }
    var last: Element? { others.last ?? second ?? first }
    var all: [Element] { [first, second].compactMap(\.self) + others }

    subscript(index: Int) -> Element? {
        switch index {
        case 0: first
        case 1: second
        default: others[index - 2]
        }
    }

    mutating func append(_ element: Element) {
        if first == nil {
            first = element
        } else if second == nil {
            second = element
        } else {
            others.append(element)
        }
    }
}
