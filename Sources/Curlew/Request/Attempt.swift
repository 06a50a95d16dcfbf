public import CurlewCore
internal import Foundation
public import FoundationNetworking

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
    var visibleRequests = ShortList<VisibleRequest>()
    /// The number of `visibleRequests` when a final request was last announced.
    package var announcedCount = 0
    var identifiers = ShortList<TaskIdentifier>()
    var collectedMetrics = ShortList<TransferMetrics>()

    /// The `URLRequest`s of the attempt in order: the described one, the adapted one if there are adapters, and one for
    /// each redirect. A resumed download that starts over continues its attempt, and its requests are appended. Empty
    /// if the attempt failed before any was made.
    public var requests: [URLRequest] { visibleRequests.all.map(\.urlRequest) }
    /// The redirects that were followed, oldest first. Complete when the exchange after the last redirect has ended.
    public var redirects: [RedirectHop] { collectedMetrics.last?.redirects ?? [] }
    /// The identifiers of the attempt's exchanges: the first, one for each redirect and each challenge that the
    /// session has answered, and one more if a resumed download starts over. A request that is repeated with stored
    /// credentials keeps its identifier. Empty if no exchange has begun.
    public var tasks: [TaskIdentifier] { identifiers.all }
    /// The metrics of the exchanges that have ended.
    public var metrics: [TransferMetrics] { collectedMetrics.all }

    /// Whether the attempt has neither a request nor an error.
    var isEmpty: Bool { visibleRequests.isEmpty && error == nil }

    /// The final request of the attempt, before redirects. `nil` before it is announced.
    var announcedRequest: VisibleRequest? { announcedCount > 0 ? visibleRequests[announcedCount - 1] : nil }

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
        if let last = visibleRequests.last, let url = last.url {
            text += ": \(last.method?.rawValue ?? "GET") \(Redaction.redacted(url).absoluteString)"
        }
        return error.map { "\(text): \($0)" } ?? text
    }

    /// Empty: debuggers print every stored property of a type without a mirror, secrets included.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
