public import Curlew
internal import CurlewHTTPTypes
public import Foundation
internal import FoundationNetworking
public import HTTPTypes
public import OpenAPIRuntime

/// Sends the requests of generated OpenAPI clients over a session.
///
///     let client = Client(serverURL: try Servers.Server1.url(), transport: SessionTransport(session))
///
/// Bodies are streamed in both directions. A request's body is read as fast as the server takes it, and the server is
/// slowed down if nobody reads the response's body. A server may respond before the request's body has ended.
///
/// - `send` returns when the head of the response has arrived, for any status. It throws a `CurlewError`, which generated
///   code wraps into its `ClientError`.
/// - Cancelling the task of `send` cancels the request, and so does cancelling the task that reads the body. Releasing the
///   body unread does, too.
/// - A body with `IterationBehavior.multiple` is iterated again when it is sent again: for a retry, a challenge, or a
///   redirect that keeps it. A body with `.single` then fails with `.bodyUnavailable`.
/// - A path parameter with the value `.` or `..` fails with `.invalidURL`: it would lead to another path.
/// - Redirects are not followed unless `followsRedirects` is set: their responses are described in the document.
///
/// Everything else is the session's: timeouts, interceptors, middleware, cookies, cache and event monitors.
public struct SessionTransport: ClientTransport {
    /// The session that sends the requests.
    public var session: Session
    /// Whether redirects are followed, by the session's policy.
    public var followsRedirects: Bool

    /// Creates a transport.
    public init(_ session: Session = .default, followsRedirects: Bool = false) {
        self.session = session
        self.followsRedirects = followsRedirects
    }

    /// Sends a request, and returns the head and the body of the response. The body can be iterated once; `nil` if the
    /// response cannot have one.
    public func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        guard !Task.isCancelled else { throw CurlewError(.cancelled, phase: .lifecycle) }
        var urlRequest = URLRequest(url: try Self.url(of: request, below: baseURL))
        urlRequest.httpMethod = request.method.rawValue
        urlRequest.setFields(request.headerFields)
        let stream =
            body.map { session.streamRequest(urlRequest, body: $0.requestBody) } ?? session.streamRequest(urlRequest)
        stream.acceptingAnyStatus().taskDescription = operationID
        if !followsRedirects { stream.redirect(using: .doNotFollow) }

        let head = try await stream.head()
        let response = HTTPResponse(head)
        // The tunnel of a CONNECT would not end by itself, so it is released, which cancels it.
        if request.method == .connect { return (response, nil) }
        if request.method == .head || head.status == 204 || head.status == 304 {
            // There is no body, but the exchange has to end: releasing the stream before that would cancel it.
            for try await _ in stream.chunks {}
            return (response, nil)
        }
        // The chunks hold the request, which ends when the body is released.
        let chunks = stream.chunks.map { HTTPBody.ByteChunk($0) }
        return (response, HTTPBody(chunks, length: head.length, iterationBehavior: .single))
    }

    /// Returns the server's URL, followed by the path and the query of the request. Throws `.invalidURL` if the path
    /// does not begin with a slash, has a segment of dots, or has a `#`, with which a fragment would begin.
    ///
    /// Generated code escapes slashes in the value of a path parameter, but not dots. The value `..` in
    /// `/users/{id}/orders` would make the path `/orders`, which is another operation's.
    static func url(of request: HTTPRequest, below baseURL: URL) throws -> URL {
        var url = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)
        let path = request.path ?? ""
        // Without a slash, the path would continue the last segment of the base, or the host's name. Behind a server's URL
        // that has no host, two slashes would begin one.
        let slashes = path.utf8.prefix(2).prefix { $0 == UInt8(ascii: "/") }.count
        let isPath =
            !path.utf8.contains(UInt8(ascii: "#"))
            && (path.isEmpty || slashes == 1 || slashes == 2 && url?.host?.isEmpty == false)
        // Parsed after a host, so that two slashes at the beginning are part of the path.
        let target = isPath ? URLComponents(string: "http://host" + path) : nil
        if let target, target.percentEncodedPath.split(separator: "/").contains(where: isDots) {
            throw CurlewError(
                .invalidURL, phase: .creation, reason: "A segment of the operation's path is \".\" or \"..\".",
                url: baseURL)
        }
        if let target, var base = url?.percentEncodedPath {
            if base.hasSuffix("/"), target.percentEncodedPath.hasPrefix("/") { base.removeLast() }
            url?.percentEncodedPath = base + target.percentEncodedPath
            url?.percentEncodedQuery = target.percentEncodedQuery
        }
        guard target != nil, let url = url?.url else {
            throw CurlewError(
                .invalidURL, phase: .creation, reason: "The path of the operation makes no URL.", url: baseURL)
        }
        return url
    }

    /// Whether a segment of a path is `.` or `..`, escaped or not.
    private static func isDots(_ segment: Substring) -> Bool {
        [".", ".."].contains(segment.lowercased().replacing("%2e", with: "."))
    }
}

extension HTTPBody {
    /// The body as a session sends it.
    fileprivate var requestBody: RequestBody {
        let length: Int64? =
            switch self.length {
            case .known(let length): length
            case .unknown: nil
            }
        return switch iterationBehavior {
        case .single: .sequence(map { Data($0) }, length: length)
        case .multiple: .sequence(length: length) { self.map { Data($0) } }
        }
    }
}

extension ResponseHead {
    /// The length of the body after decoding, which a compressed response does not tell.
    fileprivate var length: HTTPBody.Length {
        guard !headers.contains(name: "Content-Encoding"),
            let length = headers.value(for: "Content-Length").flatMap({ Int64($0) }), length >= 0
        else { return .unknown }
        return .known(length)
    }
}
