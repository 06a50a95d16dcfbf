internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A WebSocket, which sends and receives messages.
///
///     let socket = session.webSocket("wss://example.org/feed")
///     try await socket.send("subscribe")
///     for try await message in socket.messages {
///         if case .text(let text) = message { print(text) }
///     }
///
/// The first call to `send`, `ping` or `opened()`, or the first iteration, opens the connection. Leaving the loop, or
/// cancelling its task, closes it. Cancelling the request drops the connection without a closing handshake.
///
/// When the last reference to the request, its sequences and iterators is gone and nothing waits for it, the connection
/// closes at once: messages that `send` has accepted and the close frame are sent only if the server takes them within
/// 20 milliseconds. `close()` waits until they have been sent.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public final class WebSocketRequest: Request, @unchecked Sendable {
    /// The description of the request, converted for every attempt.
    package let convertible: any URLRequestConvertible
    /// The requested subprotocols, in order of preference.
    package let protocols: [String]
    /// The options of the WebSocket.
    package let options: WebSocketOptions

    let link: WebSocketLink
    let hook: Lock<OpeningHook?>
    let observation: Lock<Observation>
    private let isStarted: Lock<Bool>
    /// The handle of the run, if it is not the user's.
    private let runsHandle = WeakReference<WebSocketRequest>()

    /// The handlers of events, which read the messages together.
    struct Observation {
        var observers: [WebSocketObserver] = []
        var pump: Task<Void, Never>?
        /// Messages whose senders do not wait.
        var queue: ArraySlice<QueuedMessage> = []
        var isSending = false
    }

    init(
        _ convertible: any URLRequestConvertible,
        protocols: [String],
        options: WebSocketOptions,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool? = nil
    ) {
        self.convertible = convertible
        self.protocols = protocols
        self.options = options
        let link = WebSocketLink(options: options)
        let hook = Lock<OpeningHook?>(nil)
        let observation = Lock(Observation())
        self.link = link
        self.hook = hook
        self.observation = observation
        isStarted = Lock(false)
        let kind = RequestKind(
            source: .own { try Self.describe(convertible, protocols, link, in: $1) },
            purpose: .stream,
            makeDelegate: { _ in WebSocketTaskDelegate() },
            reader: MessageReader(link: link, observation: observation),
            webSocket: WebSocketAttempts(link: link, hook: hook)
        )
        super.init(
            kind, session: session, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    private init(ofRun original: WebSocketRequest) {
        convertible = original.convertible
        protocols = original.protocols
        options = original.options
        link = original.link
        hook = original.hook
        observation = original.observation
        isStarted = original.isStarted
        super.init(ofRun: original)
    }

    deinit {
        // The run that a verb or `resume()` started continues, but without the user's handle the WebSocket is unusable,
        // unless handlers read its messages.
        guard !isHandleOfRun, observation.withLock({ $0.pump }) == nil, let run = runsHandle.object else { return }
        // Nobody would learn of the server's answer to the close frame, so it is not awaited.
        if !link.drop() { run.cancel() }
    }

    /// Makes the handle for a run that must not keep the user's handle alive.
    func handleOfRun() -> WebSocketRequest {
        let made = WebSocketRequest(ofRun: self)
        runsHandle.object = made
        return made
    }

    /// Starts the run in a separate task, unless an earlier call has.
    func startRun() {
        guard isStarted.withLock({ !exchange(&$0, with: true) }) else { return }
        // The run must not keep the user's handle alive: releasing the handle closes the WebSocket.
        let run = handleOfRun()
        Task { _ = await run.driveOrJoin(run.beginAwaiting(), checksStatus: false) }
    }

    private static func describe(
        _ convertible: any URLRequestConvertible,
        _ protocols: [String],
        _ link: WebSocketLink,
        in run: Run
    ) throws -> URLRequest {
        // Resolved before the scheme is read: a relative URL has the scheme of the base URL.
        var request = try run.resolved(convertible.asURLRequest())
        if !protocols.isEmpty {
            guard WebSocketHandshake.areValid(protocols) else { throw CurlewError.invalidSubprotocol }
            // The subprotocols are a header field of the request, so that a redirect to another origin removes them
            // like other secrets.
            request.headers.add(name: "Sec-WebSocket-Protocol", value: protocols.joined(separator: ", "))
        }
        let scheme = request.url?.scheme?.lowercased()
        let isWebSocketScheme = scheme == "ws" || scheme == "wss"
        link.state.withLock { $0.namesWebSocketScheme = isWebSocketScheme }
        guard isWebSocketScheme else { return request }
        return try request.with(scheme: scheme == "ws" ? "http" : "https")
    }
}

/// The attempts of a WebSocket request. Each opens a connection of its own, which speaks no HTTP after the handshake.
/// It cannot use libcurl's handling of challenges, so it answers only those for Basic.
struct WebSocketAttempts: Sendable {
    let link: WebSocketLink
    let hook: Lock<WebSocketRequest.OpeningHook?>

    func transport(in session: Session, for exchange: Exchange) -> any Transport {
        WebSocketTransport(
            base: session.network, link: link,
            maximumHeaderSize: session.configuration.maximumHeaderSize,
            // Stored when the WebSocket opens, for requests that are made while it is open.
            willOpen: { exchange.storeCookiesAndHSTS(from: $0.headers) },
            hook: preparation(by: exchange.request))
    }

    /// The user's preparation of each connection, which runs before anything else uses the connection.
    private func preparation(by request: Request) -> WebSocketLink.Hook? {
        guard let hook = hook.withLock({ $0 }) else { return nil }
        return { [link] connection in
            // Looked up for each call: a reference that lives as long as the connection would keep the user's handle.
            guard let socket = request.usersHandle as? WebSocketRequest else { return }
            let context = HookContext(link: link, connection: connection)
            try await HookContext.$current.withValue(context) {
                try await UserCode.call(for: request) { try await hook(socket) }
            }
        }
    }

    /// Returns the pause before the request connects again, or `nil` if it does not. Unlike a retry, this may follow a
    /// success.
    func pauseBeforeReconnecting(after result: RunResult) -> Duration? {
        let asked = result.response?.head.headers["Retry-After"].flatMap { RetryAfter.delay($0, now: Date()) }
        return link.pauseBeforeReconnecting(after: result.error, retryAfter: asked)
    }

    /// Returns the URL in the form in which the user gave it.
    func asGiven(_ url: URL) -> URL { link.asGiven(url) }
}

/// The readers of a WebSocket's messages.
private struct MessageReader: ResponseReader {
    let link: WebSocketLink
    let observation: Lock<WebSocketRequest.Observation>

    func handleOfRun(for request: Request) -> Request { (request as? WebSocketRequest)?.handleOfRun() ?? request }

    /// Retriers are asked only about the opening. After a lost connection the reconnection policy decides.
    func allowsAnotherAttempt(of request: Request) -> Bool { !link.hasConnection }

    func ended(with result: RunResult) { link.endForGood(with: result.error) }

    func untilConsumed(of request: Request) async { await observation.withLock { $0.pump }?.value }
}

extension URL {
    /// Returns the URL with another scheme, or `nil` if it cannot be taken apart.
    func with(scheme: String) -> URL? {
        var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        parts?.scheme = scheme
        return parts?.url
    }
}

extension URLRequest {
    /// Returns the request with another scheme, because the handshake is an HTTP request.
    fileprivate func with(scheme: String) throws -> URLRequest {
        guard let url else { return self }
        guard let changed = url.with(scheme: scheme) else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the URL cannot be taken apart", url: url)
        }
        var request = self
        request.url = changed
        return request
    }
}

/// Checks the response to a handshake. If the status is not 101, the handshake is refused, with the beginning of the
/// body.
struct WebSocketTaskDelegate: TaskDelegate {
    private let answer = Lock(Answer())
    private static let excerptLimit = 64 * 1024

    private struct Answer: Sendable {
        var status = 0
        var excerpt = Data()
    }

    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition {
        answer.withLock { $0.status = response.head.status }
        return .proceed
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        let isEnough = answer.withLock { answer in
            answer.excerpt.append(contentsOf: bytes.prefix(Self.excerptLimit - answer.excerpt.count))
            return answer.excerpt.count == Self.excerptLimit
        }
        return isEnough ? .abort(refusal) : .proceed
    }

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        let status = answer.withLock { $0.status }
        guard status != 0, status != 101 else { return CollectedBody(error: error) }
        return CollectedBody(error: error, verdict: .rejected(refusal, isStatusCheckOnly: false))
    }

    private var refusal: CurlewError {
        let (status, excerpt) = answer.withLock { ($0.status, $0.excerpt) }
        return CurlewError(
            .webSocketRefused, phase: .receive,
            reason: "the server did not open a WebSocket: it answered with status \(status)",
            responseCode: status, responseBody: excerpt)
    }
}

/// The options of a WebSocket.
///
///     let socket = session.webSocket("wss://example.org/feed") { $0.pingInterval = .seconds(30) }
public struct WebSocketOptions: Sendable, Hashable {
    /// Whether messages are compressed.
    public enum Compression: Sendable, Hashable {
        /// Messages are compressed if the server agrees (permessage-deflate, RFC 7692).
        case negotiated
        /// Messages are never compressed.
        case off
    }

    /// The maximum size of a received message in bytes, after decompression. Unread messages may occupy as many bytes;
    /// beyond that the server is paused.
    public var maximumMessageSize = 16 * 1024 * 1024
    /// Whether messages are compressed.
    public var compression: Compression = .negotiated
    /// The time from a pong to the next automatic ping; `nil` for no automatic pings.
    public var pingInterval: Duration?
    /// The time that the server has for a pong; after that the WebSocket ends with `.idleTimedOut`. It does not run
    /// while the server is paused because messages are unread, and restarts while messages queued before the ping are
    /// being sent.
    public var pongTimeout: Duration = .seconds(20)
    /// The time that the closing handshake may take.
    public var closeTimeout: Duration = .seconds(5)
    /// The number of bytes that may wait to be sent; beyond it `send` waits. A single message may be larger.
    public var sendBuffer = 1024 * 1024

    /// Creates options; each parameter has a default.
    public init(
        maximumMessageSize: Int = 16 * 1024 * 1024,
        compression: Compression = .negotiated,
        pingInterval: Duration? = nil,
        pongTimeout: Duration = .seconds(20),
        closeTimeout: Duration = .seconds(5),
        sendBuffer: Int = 1024 * 1024
    ) {
        self.maximumMessageSize = maximumMessageSize
        self.compression = compression
        self.pingInterval = pingInterval
        self.pongTimeout = pongTimeout
        self.closeTimeout = closeTimeout
        self.sendBuffer = sendBuffer
    }

    var clocks: WebSocketStateMachine.Clocks {
        .init(pingInterval: pingInterval, pongTimeout: pongTimeout, closeTimeout: closeTimeout)
    }
}
