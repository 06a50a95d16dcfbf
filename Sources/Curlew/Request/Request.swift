public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// One thing to fetch, send or stream: its options, its state and the history of its attempts.
public class Request: @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.

    /// How far a request has come.
    public typealias State = RequestState

    /// Names the request. Made when first asked for.
    public var id: UUID { identity.withLock { $0.value() } }

    /// The last `URLRequest`, adapted if there are adapters.
    public var request: URLRequest? { nil }
    /// The head of the last attempt's response.
    public var response: HTTPURLResponse? { nil }
    /// How often the request was tried again.
    public var retryCount: Int { 0 }
    /// What went wrong, if something did.
    public var error: CurlewError? { nil }

    private let identity = Lock(LazyIdentity())

    init() {}
}

/// A UUID costs microseconds and most requests are never asked for theirs.
struct LazyIdentity: Sendable {
    private var made: UUID?

    mutating func value() -> UUID {
        if let made { return made }
        let new = UUID()
        made = new
        return new
    }
}
