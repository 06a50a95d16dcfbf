internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A WebSocket: messages both ways.
///
///     let socket = session.webSocket("wss://example.org/feed")
///     try await socket.send("subscribe")
///     for try await message in socket.messages {
///         if case .text(let text) = message { print(text) }
///     }
///
/// The first verb opens it. Leaving the loop, or cancelling its task, closes it. Cancelling the request ends it
/// without the closing handshake.
// SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.
public final class WebSocketRequest: Request, @unchecked Sendable {
    /// What is turned into a `URLRequest` for every try.
    public let convertible: any URLRequestConvertible
    /// The subprotocols that are asked for, the best first.
    public let protocols: [String]
    /// How the WebSocket behaves.
    public let options: WebSocketOptions

    let link: WebSocketLink
    private let isStarted = Lock(false)

    init(
        _ convertible: any URLRequestConvertible,
        protocols: [String],
        options: WebSocketOptions,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?
    ) {
        self.convertible = convertible
        self.protocols = protocols
        self.options = options
        link = WebSocketLink(options: options)
        super.init(session: session, interceptor: interceptor, shouldAutomaticallyResume: nil)
    }

    /// Whether this is the first time that it is asked.
    func startsNow() -> Bool {
        isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
    }

    // MARK: What its run asks

    override var purpose: TransferPurpose { .stream }

    override func makeURLRequest() throws -> URLRequest { try convertible.asURLRequest().withHTTPScheme() }

    override func transport(in session: Session) -> any Transport {
        let handlesCookies = record.withLock { $0.history.requests.last?.handlesCookies } ?? true
        return WebSocketTransport(
            base: session.transport, link: link, protocols: protocols,
            maximumHeaderSize: session.configuration.maximumHeaderSize
        ) { [context] head, url in
            context.remember(head.headers, from: url, handlesCookies: handlesCookies)
        }
    }

    override func makeDelegate(for exchange: ExchangeContext, _ outgoing: OutgoingExchange) -> any TaskDelegate {
        WebSocketTaskDelegate(exchange)
    }

    // The cookies of a 101 are for requests that are made while the WebSocket is open.
    override var hasRememberedFields: Bool { link.hasOpened }

    /// Messages that were read cannot be taken back.
    override var mayBeTriedAgain: Bool { link.opening.value == nil }

    override func resultArrived(_ result: RunResult) { link.over(result.error) }
}

extension URLRequest {
    /// The same with http in the place of ws, and https in that of wss: the handshake is one of HTTP.
    fileprivate func withHTTPScheme() throws -> URLRequest {
        guard let url, let scheme = url.scheme?.lowercased(), scheme == "ws" || scheme == "wss" else { return self }
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.scheme = scheme == "ws" ? "http" : "https"
        guard let changed = parts?.url else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the URL cannot be taken apart", url: url)
        }
        var request = self
        request.url = changed
        return request
    }
}
