public import CurlewCore
public import Foundation
internal import Glibc

/// A real HTTP/1.1 and HTTP/2 server on 127.0.0.1, in the test's own process, that can fail at any point of an exchange.
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
/// It has the routes of httpbin (`TestServer.standardRoutes` lists them), answers from closures, and
/// follows scripts: responses that are used up one by one, with faults at any point of the exchange.
///
/// - One thread serves all connections. Closures run on it: one that blocks holds up every connection.
///   What takes time is said in the response (`delayed(by:)`, `throttled(to:)`, `stalling(until:at:)`).
/// - The port is chosen by the system. Servers do not share anything, so tests may run in parallel.
/// - `stop()`, or dropping the last reference, ends the thread and closes every connection at once.
public final class TestServer: Sendable {
    /// The settings of a server.
    public struct Configuration: Sendable {
        /// 0 lets the system choose.
        public var port = 0
        /// Whether the httpbin-like routes are there.
        public var hasStandardRoutes = true
        /// How `Expect: 100-continue` is answered where neither a script nor a route says.
        public var expectation = Expectation.answer
        /// Most bytes of a body that a route gets and `requests` keeps; the count and digest cover all.
        public var bodyLimit = 8 << 20
        /// Most bytes as received that `requests` keeps of one request.
        public var rawLimit = 1 << 20
        /// Most bytes of a request's head; above it the answer is 400.
        public var headLimit = 4 << 20
        /// Most requests that `requests` keeps; the oldest go first.
        public var recordLimit = 10_000
        /// Most bytes of bodies that `requests` keeps; the oldest requests lose theirs first.
        public var recordByteLimit = 64 << 20
        /// The kernel's send buffer: a small one makes a slow reader felt after few bytes.
        public var sendBufferSize: Int?
        /// The kernel's receive buffer: a small one makes a slow server felt after few bytes.
        public var receiveBufferSize: Int?
        /// How many connections may wait to be accepted.
        public var backlog = 4096
        /// TLS, with a certificate that is made on the fly; nil speaks plain HTTP.
        public var tls: TLS?
        /// What the server speaks, the best first. With TLS the client and it agree by ALPN; without, a client that
        /// begins with the preface of HTTP/2 gets HTTP/2.
        public var protocols = [ApplicationProtocol.http1]

        /// Creates the usual configuration.
        public init() {}
    }

    /// A protocol under which requests come.
    public enum ApplicationProtocol: String, Sendable, Hashable {
        /// HTTP/1.1 and HTTP/1.0.
        case http1 = "http/1.1"
        /// HTTP/2: all requests of a client on one connection, at the same time.
        ///
        ///     var configuration = TestServer.Configuration()
        ///     configuration.tls = TestServer.TLS()
        ///     configuration.protocols = [.http2, .http1]
        ///     let server = try TestServer(configuration)
        ///
        /// Routes, scripts and records are the same, with these differences:
        ///
        /// - A fault `.reset` ends its stream with RST_STREAM, and `.halfClose` ends it as if the body were whole; `.close` ends the
        ///   connection, with every stream on it. Faults in the head happen before it.
        /// - Garbage and `.raw` bodies go onto the connection between two frames.
        /// - A response that does not read the request (`readsBody`) resets what is left of it; the connection goes on.
        /// - `Request.rawBytes` is empty, and there are no WebSockets.
        case http2 = "h2"
    }

    /// Why a wait failed.
    public enum WaitFailure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The time ran out; the text says what had arrived.
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

    /// Starts a server; it accepts connections when this returns.
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

    /// Starts a server; the same as `init`, for call sites that read better with it.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> TestServer {
        try TestServer(configuration)
    }

    deinit { thread.stop() }

    /// Ends the server: the listener and every connection are closed when this returns. Twice does no harm.
    public func stop() { thread.stop() }

    /// `http://127.0.0.1:port`, or `https` with TLS.
    public var url: URL { url("") }

    /// The server's URL with a path and query, which must be percent-encoded already.
    public func url(_ path: String) -> URL {
        let slash = path.isEmpty || path.hasPrefix("/") ? "" : "/"
        let base = "\(core.isSecure ? "https" : "http")://127.0.0.1:\(port)"
        // Text that makes no URL is a mistake in the test, which its first request shows: it finds no route.
        return URL(string: base + slash + path) ?? URL(string: base + "/not-a-url") ?? URL(filePath: "/")
    }
}

// MARK: Answers

extension TestServer {
    /// Answers requests to `pattern` from a closure: `/a/b`, `/status/{code}`, `/files/*`.
    ///
    /// The latest route that fits wins, so a test may replace a standard one. The closure gets the request
    /// with its whole body; it runs on the server's thread and must not block. What it throws becomes a 500.
    /// A closure that needs the server captures it `unowned` or `weak`: the server keeps its routes until it stops.
    public func route(
        _ pattern: String,
        methods: [HTTPMethod]? = nil,
        expectation: Expectation? = nil,
        _ handler: @escaping @Sendable (Request) throws -> Response
    ) {
        let names = methods.map { Set($0.map(\.rawValue)) }
        core.router.add(
            Router.Route(pattern: PathPattern(pattern), methods: names, expectation: expectation, handler: handler)
        )
    }

    /// Puts responses before the routes of a path: each is used for one request, in order; afterwards the
    /// routes answer again. More may be added at any time.
    public func script(_ path: String, _ responses: Response...) {
        core.router.script(path, responses)
    }

    /// Puts responses before the routes of a path, as many as the array has.
    public func script(_ path: String, _ responses: [Response]) {
        core.router.script(path, responses)
    }

    /// Answers the first requests on the next connection with these, whatever they ask for.
    ///
    /// Only such a script can misbehave before a byte of a request is read (`.beforeReading`).
    public func scriptNextConnection(_ responses: Response...) {
        core.router.scriptNextConnection(responses)
    }

    /// Answers the first requests on every later connection with these; none ends that.
    public func scriptEveryConnection(_ responses: Response...) {
        core.router.scriptEveryConnection(responses.isEmpty ? nil : responses)
    }

    /// Forgets all scripts that have not been used.
    public func removeScripts() { core.router.removeScripts() }

    /// Closes every connection that is open now, as a server does with idle ones.
    public func closeConnections() { core.mailbox.post(.closeConnections) }
}
