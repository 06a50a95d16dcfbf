public import CurlewCore
public import Foundation
internal import FoundationNetworking

// Streams: the body is consumed while it arrives.
extension Session {
    /// Creates a streamed request with an `Encodable` value as its parameters.
    public nonisolated func streamRequest<P: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: P? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            EncodableRequest(
                url: convertible,
                method: method,
                parameters: parameters,
                encoder: encoder,
                headers: headers,
                modifier: requestModifier
            ),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a streamed request without parameters.
    public nonisolated func streamRequest(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a streamed request from a value that can be converted to a `URLRequest`.
    public nonisolated func streamRequest(
        _ convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        DataStreamRequest(
            convertible,
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError
        )
    }

    // MARK: Bodies

    /// Creates a streamed request that sends a body. The response is delivered while it arrives, even before the body
    /// has been sent.
    public nonisolated func streamRequest(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .post,
        body: RequestBody,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            body: body,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a streamed request from a value that can be converted to a `URLRequest`. `body` replaces the one inside
    /// it.
    public nonisolated func streamRequest(
        _ convertible: any URLRequestConvertible,
        body: RequestBody,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        DataStreamRequest(
            body.contentType.map { FormRequest(request: convertible, contentType: $0) } ?? convertible,
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            uploadable: body.makeUploadable
        )
    }
}

extension Session {
    /// Creates a WebSocket. The scheme is `ws`, `wss`, `http` or `https`. The connection is opened by the first call
    /// that uses it.
    ///
    /// Adapters, cookies, redirects, trust, proxies and monitors apply to the handshake as to any request. A response
    /// that opens no WebSocket is reported as `.webSocketRefused`, with its status and the beginning of its body.
    public nonisolated func webSocket(
        _ convertible: any URLConvertible,
        protocols: [String] = [],
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) -> WebSocketRequest {
        webSocket(
            PlainRequest(url: convertible, method: .get, headers: headers, modifier: nil),
            protocols: protocols,
            interceptor: interceptor,
            configure: configure
        )
    }

    /// Creates a WebSocket from a value that describes its handshake.
    public nonisolated func webSocket(
        _ convertible: any URLRequestConvertible,
        protocols: [String] = [],
        interceptor: (any RequestInterceptor)? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) -> WebSocketRequest {
        var options = configuration.webSocket
        configure(&options)
        return WebSocketRequest(
            convertible, protocols: protocols, options: options, session: self, interceptor: interceptor)
    }

    /// Creates a WebSocket with exactly these options.
    package nonisolated func webSocket(
        _ convertible: any URLRequestConvertible,
        protocols: [String],
        options: WebSocketOptions,
        interceptor: (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?
    ) -> WebSocketRequest {
        WebSocketRequest(
            convertible, protocols: protocols, options: options, session: self, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}

/// The body of a request whose response is streamed.
///
///     session.streamRequest(url, method: .post, body: .file(recording)).lines
///
/// The body is read while it is sent. Its exact length is sent if it is known.
public struct RequestBody: Sendable {
    /// The content type of a form, with its boundary. `nil` for bodies whose type Curlew does not know.
    let contentType: String?
    /// Creates the body of each attempt.
    let makeUploadable: @Sendable () throws -> UploadRequest.Uploadable

    /// Data in memory.
    public static func data(_ data: Data) -> RequestBody {
        RequestBody(contentType: nil) { .data(data) }
    }

    /// A file. Its length is determined at the beginning of each attempt.
    public static func file(_ url: URL) -> RequestBody {
        RequestBody(contentType: nil) { .file(url, shouldRemove: false) }
    }

    /// The chunks of a sequence. The next chunk is requested when the server has taken the last one.
    ///
    /// The sequence is read once, so the request cannot be retried and cannot follow a redirect that keeps the body.
    /// Use `sequence(length:_:)` for a body that can be sent again. `length` is the number of all bytes, or `nil` if
    /// unknown.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S, length: Int64? = nil) -> RequestBody
    where S.Element == Data {
        let body = UploadRequest.Uploadable(BodySource.sequence(sequence, length: length))
        return RequestBody(contentType: nil) { body }
    }

    /// The chunks of a sequence that `make` creates again whenever the body is sent again: for a retry, a redirect with
    /// 307 or 308, or a challenge.
    ///
    ///     session.streamRequest(url, method: .post, body: .sequence { Rows(of: table) }).lines
    ///
    /// `make` must create equal bytes each time. `length` is the number of all bytes, or `nil` if unknown. The sequence
    /// runs with the task-local values of the requesting task, unless the body is sent again within an exchange, for
    /// example after a challenge that libcurl answers.
    public static func sequence<S: AsyncSequence & Sendable>(
        length: Int64? = nil,
        _ make: @escaping @Sendable () -> S
    ) -> RequestBody where S.Element == Data {
        RequestBody(contentType: nil) { .stream(RemadeSequenceBody(make), length: length) }
    }

    /// A form, as it is when its first `URLRequest` has been created; retries send equal bytes. Sets `Content-Type`.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        let body = FormBody(form)
        return RequestBody(contentType: form.contentType) { try body.uploadable() }
    }
}
