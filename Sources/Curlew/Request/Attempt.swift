public import CurlewCore
internal import Foundation
public import FoundationNetworking

/// One attempt of a request: the requests that it made, redirects included, and how it ended.
///
///     for attempt in request.attempts {
///         print(attempt.number, attempt.tasks.count, attempt.metrics.last?.duration ?? 0, attempt.error as Any)
///     }
///
/// A value, taken when `request.attempts` is read. A redirect and an answered challenge continue their attempt; a retry
/// begins the next one.
public struct Attempt: Sendable {
    /// Counts from 0, as `error.attempt`, `metrics.attempt` and `request.retryCount` do.
    public private(set) var number = 0
    /// Why the attempt failed. `nil` if it has not failed. That of the last attempt is the request's `error`.
    public internal(set) var error: CurlewError?
    var visibleRequests = ShortList<VisibleRequest>()
    /// How many of `visibleRequests` there were when the last final one was announced.
    package var announcedCount = 0
    var identifiers = ShortList<TaskIdentifier>()
    var collectedMetrics = ShortList<TransferMetrics>()

    /// The `URLRequest`s of the attempt in order: the described one, the adapted one if there are adapters, and one for
    /// each redirect. Empty if the attempt failed before there was any.
    public var requests: [URLRequest] { visibleRequests.all.map(\.urlRequest) }
    /// The redirects that were followed, oldest first, once the exchange after them has ended.
    public var redirects: [RedirectHop] { collectedMetrics.last?.redirects ?? [] }
    /// The identifiers of the attempt's exchanges: the first, and one for each redirect and each challenge that the
    /// session has answered. Empty if no exchange has begun.
    public var tasks: [TaskIdentifier] { identifiers.all }
    /// The metrics of the exchanges that have ended.
    public var metrics: [TransferMetrics] { collectedMetrics.all }

    /// Whether nothing has happened in it yet.
    var isEmpty: Bool { visibleRequests.isEmpty && error == nil }

    /// The final request of the attempt, before redirects. `nil` before it is announced.
    var announcedRequest: VisibleRequest? { announcedCount > 0 ? visibleRequests[announcedCount - 1] : nil }

    /// The attempt after this one.
    func next() -> Attempt {
        var next = Attempt()
        next.number = number + 1
        return next
    }
}

extension Attempt: CustomStringConvertible, CustomReflectable {
    /// Its number, method, URL without secrets, and error.
    public var description: String {
        var text = "attempt \(number)"
        if let last = visibleRequests.last, let url = last.url {
            text += ": \(last.method?.rawValue ?? "GET") \(Redaction.redacted(url).absoluteString)"
        }
        return error.map { "\(text): \($0)" } ?? text
    }

    /// Debuggers print every stored property of a value without a mirror, secrets included.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
