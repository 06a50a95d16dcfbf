public import CurlewCore
public import Foundation
internal import Glibc

/// A real HTTP/1.1 and HTTP/2 server on 127.0.0.1, in the test's process, that can fail at any point of an exchange.
///
///     let server = try TestServer()
///     let text = try await session.request(server.url("/bytes/100")).data()
///
///     server.route("/greet/{name}") { request in
///         .text("hello, \(request.parameters["name"] ?? "")")
///     }
///
///     server.script("/flaky", .status(503), .text("cut").faulting(.reset, at: .inBody(after: 2)), .text("well"))
///
///     #expect(server.requests[0].headers["Accept"] == "application/json")
///
/// It has the routes of httpbin (`TestServer.standardRoutes` lists them), responds from closures, and follows scripts:
/// responses that are used once each, with faults at any point of the exchange.
///
/// - One thread serves all connections. Closures run on it: a closure that blocks delays every connection. Express
///   delays in the response (`delayed(by:)`, `throttled(to:)`, `stalling(until:at:)`), or await in a route, which then
///   runs in a task.
/// - The system chooses the port. Servers share no state, so tests may run in parallel.
/// - `stop()`, or releasing the last reference, ends the thread and closes every connection at once.
public final class TestServer: Sendable {
    /// The settings of a server.
    public struct Configuration: Sendable {
        /// The port. 0 lets the system choose.
        public var port = 0
        /// Whether the httpbin-like routes are registered.
        public var hasStandardRoutes = true
        /// The handling of `Expect: 100-continue` if neither a script nor a route sets one.
        public var expectation = Expectation.answer
        /// The number of body bytes that a route receives and `requests` keeps. Count and digest cover the whole body.
        public var bodyLimit = 8 << 20
        /// The number of raw bytes that `requests` keeps of one request.
        public var rawLimit = 1 << 20
        /// The size limit of a request's head. A longer head is answered with 400.
        public var headLimit = 4 << 20
        /// The number of requests that `requests` keeps. It may briefly keep a quarter more; the oldest are removed.
        public var recordLimit = 10_000
        /// The number of bytes, of bodies and raw, that `requests` keeps. The oldest requests lose theirs first.
        public var recordByteLimit = 64 << 20
        /// The kernel's send buffer. With a small one, a slow reader blocks the server after few bytes.
        public var sendBufferSize: Int?
        /// The kernel's receive buffer. With a small one, a slow server blocks the client after few bytes.
        public var receiveBufferSize: Int?
        /// The number of connections that may wait to be accepted.
        public var backlog = 4096
        /// TLS, with a certificate made at start. `nil` serves plain HTTP.
        public var tls: TLS?
        /// The supported protocols, most preferred first. With TLS, ALPN chooses one; without TLS, a client that begins
        /// with the HTTP/2 preface gets HTTP/2.
        public var protocols = [ApplicationProtocol.http1]

        /// Creates the default configuration.
        public init() {}
    }

    /// An application protocol of the server.
    public enum ApplicationProtocol: String, Sendable, Hashable {
        /// HTTP/1.1 and HTTP/1.0.
        case http1 = "http/1.1"
        /// HTTP/2: all requests of a client share one connection and run concurrently.
        ///
        ///     var configuration = TestServer.Configuration()
        ///     configuration.tls = TestServer.TLS()
        ///     configuration.protocols = [.http2, .http1]
        ///     let server = try TestServer(configuration)
        ///
        /// Routes, scripts and records work as with HTTP/1.1, with these differences:
        ///
        /// - A fault `.reset` ends its stream with RST_STREAM, and `.halfClose` ends it as if the body were complete;
        ///   `.close` ends the connection with all its streams. Faults in the head happen before it.
        /// - Garbage and `.raw` bodies are written to the connection between two frames.
        /// - A response that does not read the request (`readsBody`) resets the rest of it; the connection continues.
        /// - `Request.rawBytes` is empty, and WebSockets are not supported.
        case http2 = "h2"
    }

    /// The reason why a wait failed.
    public enum WaitFailure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The timeout passed; the text says what had arrived.
        case timedOut(String)
        /// The server was stopped.
        case stopped

        public var description: String {
            switch self {
            case .timedOut(let state): "timed out with \(state)"
            case .stopped: "the server has stopped"
            }
        }
    }

    /// The port on 127.0.0.1.
    public let port: Int

    let core: ServerCore
    private let thread: ServerThread

    /// Starts a server, which accepts connections as soon as this returns.
    public init(_ configuration: Configuration = Configuration()) throws {
        let identity = try configuration.tls.map { tls in
            let identity = try ServerIdentity(tls)
            _ = try TLSContext(identity, tls, configuration.protocols)
            return identity
        }
        let listener = try Sockets.listen(
            on: configuration.port,
            backlog: Int32(clamping: configuration.backlog),
            sendBuffer: configuration.sendBufferSize,
            receiveBuffer: configuration.receiveBufferSize
        )
        port = listener.port
        do throws(SystemError) {
            core = try ServerCore(configuration: configuration, port: port, identity: identity)
        } catch {
            _ = close(listener.descriptor)
            throw error
        }
        do throws(SystemError) {
            thread = try ServerThread(core: core, listener: listener.descriptor)
        } catch {
            _ = close(listener.descriptor)
            core.mailbox.close()
            throw error
        }
        if configuration.hasStandardRoutes { addStandardRoutes() }
    }

    /// Starts a server as `init` does, for call sites that read better with a method.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> TestServer {
        try TestServer(configuration)
    }

    deinit { thread.stop() }

    /// Stops the server: the listener and all connections are closed when this returns. A second call has no effect. If
    /// a route calls it on the server's thread, they are closed after the route has returned.
    public func stop() { thread.stop() }

    /// `http://127.0.0.1:port`, or `https` with TLS.
    public var url: URL { url("") }

    /// Returns the server's URL with a path and query, which must be percent-encoded already.
    public func url(_ path: String) -> URL {
        let slash = path.isEmpty || path.hasPrefix("/") ? "" : "/"
        let base = "\(core.isSecure ? "https" : "http")://127.0.0.1:\(port)"
        // Invalid text is a mistake in the test; its first request shows it, because it matches no route.
        return URL(string: base + slash + path) ?? URL(string: base + "/not-a-url") ?? URL(filePath: "/")
    }
}

// MARK: Routes and scripts

extension TestServer {
    /// Answers requests whose path matches `pattern` with a closure: `/a/b`, `/status/{code}`, `/files/*`.
    ///
    /// The latest route that matches is used, so a test may replace a standard one. The closure receives the request
    /// with its whole body; it runs on the server's thread and must not block. An error that it throws becomes a 500. A
    /// closure that needs the server captures it `unowned` or `weak`: the server retains its routes until it stops.
    public func route(
        _ pattern: String,
        methods: [HTTPMethod]? = nil,
        expectation: Expectation? = nil,
        _ handler: @escaping @Sendable (Request) throws -> Response
    ) {
        let names = methods.map { Set($0.map(\.rawValue)) }
        core.router.add(
            Router.Route(
                pattern: PathPattern(pattern), methods: names, expectation: expectation, handler: .immediate(handler))
        )
    }

    /// Answers requests whose path matches `pattern` with an asynchronous closure, such as one that waits for a signal of
    /// the test, or asks another server.
    ///
    ///     server.route("/orders/{id}") { request in
    ///         try await paid.wait()
    ///         return .text("paid")
    ///     }
    ///
    /// Each call runs in its own task, and delays no other connection and no other stream of an HTTP/2 connection. The
    /// request is in `requests` before the closure is called. The task is cancelled when the client leaves or cancels the
    /// request, and when the server stops; `stop()` does not wait for its end.
    public func route(
        _ pattern: String,
        methods: [HTTPMethod]? = nil,
        expectation: Expectation? = nil,
        _ handler: @escaping @Sendable (Request) async throws -> Response
    ) {
        let names = methods.map { Set($0.map(\.rawValue)) }
        core.router.add(
            Router.Route(
                pattern: PathPattern(pattern), methods: names, expectation: expectation,
                handler: .asynchronous(handler))
        )
    }

    /// Queues responses for a path, ahead of its routes: each is used for one request, in order; afterwards the routes
    /// answer again. More may be added at any time.
    public func script(_ path: String, _ responses: Response...) {
        core.router.script(path, responses)
    }

    /// Queues all responses of the array for a path, ahead of its routes.
    public func script(_ path: String, _ responses: [Response]) {
        core.router.script(path, responses)
    }

    /// Answers the first requests on the next connection with these, whatever their paths.
    ///
    /// Only a connection script can fail before a byte of a request is read (`.beforeReading`).
    public func scriptNextConnection(_ responses: Response...) {
        core.router.scriptNextConnection(responses)
    }

    /// Answers the first requests on every later connection with these. Call it without responses to stop.
    public func scriptEveryConnection(_ responses: Response...) {
        core.router.scriptEveryConnection(responses.isEmpty ? nil : responses)
    }

    /// Removes all scripts that have not been used.
    public func removeScripts() { core.router.removeScripts() }

    /// Closes all open connections, as a server does with idle ones. Returns before they are closed.
    public func closeConnections() { core.mailbox.post(.closeConnections) }
}

/// Records of the requests, connections and bytes that arrived.
extension TestServer {
    /// Every request whose response has begun or is about to, in that order. An echoed request follows once its body
    /// has ended.
    ///
    /// A client that has received its response finds its request here. The number of requests and the bytes in them are
    /// bounded (`Configuration.recordLimit`, `recordByteLimit`).
    public var requests: [Request] { core.recorder.requests }

    /// The last 1,000 requests that never became complete: the peer left, reset the stream, or sent malformed bytes.
    public var abortedRequests: [Request] { core.recorder.aborted }

    /// The number of recorded requests since the start or `clearRequests()`.
    public var requestCount: Int { core.recorder.counters.requests }

    /// The number of accepted connections.
    public var connectionCount: Int { core.recorder.counters.connections }

    /// The number of open connections.
    public var openConnectionCount: Int { core.recorder.counters.openConnections }

    /// The number of bytes read from all connections.
    public var bytesReceived: Int64 { core.recorder.counters.bytesReceived }

    /// The number of bytes handed to the kernel for all connections.
    public var bytesSent: Int64 { core.recorder.counters.bytesSent }

    /// Removes all recorded requests and resets `requestCount`.
    public func clearRequests() { core.recorder.clear() }

    /// Returns the recorded requests once `requestCount` has reached `count`.
    @discardableResult
    public func waitForRequests(count: Int, timeout: Duration = .seconds(30)) async throws -> [Request] {
        try await core.recorder.wait(timeout) { $0.requests >= count }
        return requests
    }

    /// Returns when `count` connections have been accepted.
    public func waitForConnections(count: Int, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.connections >= count }
    }

    /// Returns when at most `count` connections are open.
    public func waitForOpenConnections(atMost count: Int, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.openConnections <= count }
    }

    /// Returns when this number of bytes has been read from all connections.
    public func waitForBytesReceived(_ count: Int64, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.bytesReceived >= count }
    }
}

extension TestServer {
    /// The patterns of the standard routes, in alphabetical order.
    public static let standardRoutes: [String] = StandardRoutes.all.map(\.pattern).sorted()

    private func addStandardRoutes() {
        for route in StandardRoutes.all {
            core.router.add(
                Router.Route(
                    pattern: PathPattern(route.pattern),
                    methods: route.methods,
                    expectation: nil,
                    handler: .immediate(route.handler)
                )
            )
        }
    }
}
