public import Foundation

/// One exchange, frozen: what goes onto the wire and under which limits. A retry or a redirect makes a new one.
// One reference: it is handed from step to step, and rarely changed on the way.
public struct TransferRequest: Sendable {
    private struct Values {
        var identifier: TaskIdentifier
        var attempt: Int
        var url: URL
        var method: HTTPMethod
        var headers: HTTPHeaders
        var defaultHeaders: DefaultHeaders?
        var body: BodySource
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

    /// The identity of the exchange.
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
    /// The method.
    public var method: HTTPMethod {
        get { shared.values.method }
        _modify { yield &shared.values.method }
    }
    /// This request's own fields.
    public var headers: HTTPHeaders {
        get { shared.values.headers }
        _modify { yield &shared.values.headers }
    }
    /// The session's fields, sent where `headers` does not have the name. Shared, so that a transport can
    /// keep its own form of them.
    public var defaultHeaders: DefaultHeaders? {
        get { shared.values.defaultHeaders }
        _modify { yield &shared.values.defaultHeaders }
    }
    /// Timeouts, limits and the like.
    public var options: TransferOptions {
        get { shared.values.options }
        _modify { yield &shared.values.options }
    }
    /// Whether there is a body, without a copy of it.
    package var hasBody: Bool { if case .none = shared.values.body { false } else { true } }
    /// The body.
    public var body: BodySource {
        get { shared.values.body }
        _modify { yield &shared.values.body }
    }
}

extension HTTPHeaders {
    /// Whether `Accept-Encoding` is `identity`; nil where there is no such field.
    package var asksForIdentity: Bool? { value(for: "Accept-Encoding").map { $0.lowercased() == "identity" } }
}

extension TransferRequest {
    /// The fields that go out: the session's, overlaid with the request's own.
    public var effectiveHeaders: HTTPHeaders { headers.completed(by: defaultHeaders?.headers) }
}

/// The header fields of a session. A class, because its identity is the key of a transport's prebuilt copy.
public final class DefaultHeaders: Sendable {
    /// The fields.
    public let headers: HTTPHeaders
    /// Whether they ask for bodies as they are, so that no coding of theirs is undone.
    package let asksForIdentity: Bool

    /// Creates the fields that every request of a session has.
    public init(_ headers: HTTPHeaders) {
        self.headers = headers
        asksForIdentity = headers.asksForIdentity ?? false
    }
}
