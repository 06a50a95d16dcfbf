public import Foundation

/// The complete description of one exchange: what is sent, and under which limits. Every retry and redirect makes a new
/// request.
public struct TransferRequest: Sendable {
    private struct Values {
        var identifier: TaskIdentifier
        var attempt: Int
        var url: URL
        var method: HTTPMethod
        var headers: HTTPHeaders
        var defaultHeaders: DefaultHeaders?
        var body: BodySource
        var trailers: RequestTrailers?
        var options: TransferOptions
    }

    private var shared: CopyOnWrite<Values>

    /// Creates a request.
    public init(
        identifier: TaskIdentifier,
        attempt: Int = 0,
        url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        defaultHeaders: DefaultHeaders? = nil,
        body: BodySource = .none,
        options: TransferOptions = .unchanged
    ) {
        shared = CopyOnWrite(
            Values(
                identifier: identifier,
                attempt: attempt,
                url: url,
                method: method,
                headers: headers,
                defaultHeaders: defaultHeaders,
                body: body,
                options: options
            ))
    }

    /// The identifier of the exchange.
    public var identifier: TaskIdentifier {
        get { shared.values.identifier }
        _modify { yield &shared.values.identifier }
    }
    /// The number of the attempt; 0 for the first.
    public var attempt: Int {
        get { shared.values.attempt }
        _modify { yield &shared.values.attempt }
    }
    /// The URL of the exchange.
    public var url: URL {
        get { shared.values.url }
        _modify { yield &shared.values.url }
    }
    /// The HTTP method.
    public var method: HTTPMethod {
        get { shared.values.method }
        _modify { yield &shared.values.method }
    }
    /// The header fields of this request.
    public var headers: HTTPHeaders {
        get { shared.values.headers }
        _modify { yield &shared.values.headers }
    }
    /// The session's header fields, which are sent unless `headers` contains their names. They are a shared object, so
    /// that a transport can cache its form of them.
    public var defaultHeaders: DefaultHeaders? {
        get { shared.values.defaultHeaders }
        _modify { yield &shared.values.defaultHeaders }
    }
    /// The timeouts, limits and other options.
    public var options: TransferOptions {
        get { shared.values.options }
        _modify { yield &shared.values.options }
    }
    /// Whether there is a body, without copying it.
    package var hasBody: Bool { if case .none = shared.values.body { false } else { true } }
    /// The body.
    public var body: BodySource {
        get { shared.values.body }
        _modify { yield &shared.values.body }
    }
    /// The trailer fields, which follow a body of unknown length; `nil` if there are none.
    public var trailers: RequestTrailers? {
        get { shared.values.trailers }
        _modify { yield &shared.values.trailers }
    }
}

extension HTTPHeaders {
    /// Whether `Accept-Encoding` is `identity`; `nil` if there is no such field.
    package var asksForIdentity: Bool? { value(for: "Accept-Encoding").map { $0.lowercased() == "identity" } }
}

extension TransferRequest {
    /// The header fields that are sent: the request's, and those of the session that it does not override.
    public var effectiveHeaders: HTTPHeaders { headers.completed(by: defaultHeaders?.headers) }
}

/// The header fields of a session. A class, so that a transport can find its prebuilt copy by identity.
public final class DefaultHeaders: Sendable {
    /// The fields.
    public let headers: HTTPHeaders
    /// Whether `Accept-Encoding` is `identity`, so that bodies are not decoded.
    package let asksForIdentity: Bool

    /// Creates the header fields that every request of a session has.
    public init(_ headers: HTTPHeaders) {
        self.headers = headers
        asksForIdentity = headers.asksForIdentity ?? false
    }
}

/// Stores values in one reference with the semantics of a struct. Large values that are passed often and changed rarely
/// are copied at the cost of a reference; a change copies the values if they are shared.
struct CopyOnWrite<Values: Sendable>: Sendable {
    // SAFETY: the storage is changed only while one `CopyOnWrite` refers to it; a shared storage is copied first.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var storage: Storage

    init(_ values: Values) { storage = Storage(values) }

    /// Whether both are copies of one value, and neither has been changed since.
    func isCopy(of other: CopyOnWrite) -> Bool { storage === other.storage }

    var values: Values {
        _read { yield storage.values }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
            yield &storage.values
        }
    }
}

/// Identifies one exchange of a request: each retry and each followed redirect has a new identifier.
///
/// `await session[identifier]` returns the request whose current exchange it identifies.
public struct TaskIdentifier: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }
}
