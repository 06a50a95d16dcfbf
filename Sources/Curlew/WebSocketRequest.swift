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
    private let handles: Lock<RequestHandles<WebSocketRequest>>
    private let isHandleOfRun: Bool

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
        link = WebSocketLink(options: options)
        hook = Lock(nil)
        observation = Lock(Observation())
        isStarted = Lock(false)
        handles = Lock(RequestHandles())
        isHandleOfRun = false
        super.init(session: session, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
        handles.withLock { $0.users = self }
    }

    private init(ofRun original: WebSocketRequest) {
        convertible = original.convertible
        protocols = original.protocols
        options = original.options
        link = original.link
        hook = original.hook
        observation = original.observation
        isStarted = original.isStarted
        handles = original.handles
        isHandleOfRun = true
        super.init(ofRun: original)
    }

    deinit {
        // The run that a verb started continues, but without the user's handle the WebSocket is unusable, unless
        // handlers read its messages.
        guard !isHandleOfRun, observation.withLock({ $0.pump }) == nil, let run = handles.withLock({ $0.ofRun }) else {
            return
        }
        run.leave()
    }

    /// Makes the handle for a run that must not keep the user's handle alive.
    func handleOfRun() -> WebSocketRequest {
        let made = WebSocketRequest(ofRun: self)
        handles.withLock { $0.ofRun = made }
        return made
    }

    override var usersHandle: WebSocketRequest { handles.withLock { $0.users } ?? self }

    /// Returns `true` for the first call only.
    func startsNow() -> Bool {
        isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
    }

    // MARK: Hooks of the run

    override var purpose: TransferPurpose { .stream }

    override func makeURLRequest() throws -> URLRequest {
        // Resolved before the scheme is read: a relative URL has the scheme of the base URL.
        var request = try convertible.asURLRequest().absolute(in: context)
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

    override func urlInErrors(_ url: URL?) -> URL? { url.map(link.asGiven) }

    override func transport(in session: Session) -> any Transport {
        let handlesCookies = record.withLock { $0.history.lastRequest?.handlesCookies } ?? true
        return WebSocketTransport(
            base: session.network, link: link,
            maximumHeaderSize: session.configuration.maximumHeaderSize,
            willOpen: { [context] head, url in
                context.remember(head.headers, from: url, handlesCookies: handlesCookies)
            },
            hook: preparation)
    }

    /// The user's preparation of each connection, which runs before anything else uses the connection.
    private var preparation: WebSocketLink.Hook? {
        guard let hook = hook.withLock({ $0 }) else { return nil }
        return { [self] opening in
            let prepared = PreparedConnection(link: link, opening: opening)
            let socket = usersHandle
            try await PreparedConnection.$current.withValue(prepared) {
                try await UserCode.call(for: self) { try await hook(socket) }
            }
        }
    }

    override func makeDelegate(
        for exchange: consuming ExchangeContext, _ outgoing: TransferRequest, of run: Run
    ) -> any TaskDelegate {
        WebSocketTaskDelegate(exchange)
    }

    // The cookies of a 101 were stored when the connection opened, for requests that are made while the WebSocket is
    // open.
    override var hasRememberedFields: Bool { link.hasConnection }

    /// Retriers are asked only about the opening. After a lost connection the reconnection policy decides.
    override var mayBeTriedAgain: Bool { !link.hasConnection }

    override var mayReconnect: Bool { true }

    override var offersOnlyBasic: Bool { true }

    override func pauseBeforeReconnecting(after result: RunResult) -> Duration? {
        let asked = result.response?.head.headers["Retry-After"].flatMap { RetryAfter.delay($0, now: Date()) }
        return link.pauseBeforeReconnecting(after: result.error, retryAfter: asked)
    }

    override func resultArrived(_ result: RunResult) { link.over(result.error) }

    override func untilBodyIsTaken() async { await observation.withLock { $0.pump }?.value }
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
