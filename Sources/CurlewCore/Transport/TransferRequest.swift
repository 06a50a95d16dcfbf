public import Foundation

/// One exchange, frozen: what goes onto the wire and under which limits. A retry or a redirect makes a new one.
public struct TransferRequest: Sendable {
    /// Names the attempt.
    public var identifier: TaskIdentifier
    /// 0 for the first try of a request.
    public var attempt: Int
    /// Where it goes.
    public var url: URL
    /// The method.
    public var method: HTTPMethod
    /// This request's own fields.
    public var headers: HTTPHeaders
    /// The session's fields, sent where `headers` does not have the name. Shared, so that a transport can
    /// keep its own form of them.
    public var defaultHeaders: DefaultHeaders?
    /// Timeouts, limits and the like.
    public var options: TransferOptions
    /// The body.
    public var body: BodySource
}

extension TransferRequest {
    /// Makes a request.
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
        self = .make(
            identifier: identifier,
            attempt: attempt,
            url: url,
            method: method,
            headers: headers,
            defaultHeaders: defaultHeaders,
            body: body,
            options: options
        )
    }

    /// The same for every request of a session. An initializer that is written out makes its value aside and copies it,
    /// which counts references that all requests share; the one that Swift writes does not, and has `options` before `body`.
    package static func make(
        identifier: TaskIdentifier,
        attempt: Int,
        url: consuming URL,
        method: consuming HTTPMethod,
        headers: consuming HTTPHeaders,
        defaultHeaders: consuming DefaultHeaders?,
        body: consuming BodySource,
        options: consuming TransferOptions
    ) -> TransferRequest {
        TransferRequest(
            identifier: identifier,
            attempt: attempt,
            url: url,
            method: method,
            headers: headers,
            defaultHeaders: defaultHeaders,
            options: options,
            body: body
        )
    }

    /// The fields that go out: the session's, overlaid with the request's own.
    public var effectiveHeaders: HTTPHeaders {
        guard let defaultHeaders else { return headers }
        var all = headers
        for field in defaultHeaders.headers where !headers.contains(name: field.name) { all.append(field) }
        return all
    }
}

/// The header fields of a session. A class, because its identity is the key of a transport's prebuilt copy.
public final class DefaultHeaders: Sendable {
    /// The fields.
    public let headers: HTTPHeaders

    /// Makes the fields that every request of a session has.
    public init(_ headers: HTTPHeaders) { self.headers = headers }
}
