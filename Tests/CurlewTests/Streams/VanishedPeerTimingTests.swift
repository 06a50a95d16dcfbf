import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// A server whose machine vanishes while requests without timeouts run. The machine is a network namespace that loses
/// its address.
@Suite("A peer that vanishes", .serialized, .timeLimit(.minutes(4)), .enabled(if: Namespace.isAvailable))
struct VanishedPeerTimingTests {
    @Test("keep-alive ends a waiting request that nothing else would end", arguments: ["/head", "/stream"])
    func waiting(path: String) async throws {
        try await withPeer { peer in
            let probed = Stream(peer.url(path), KeepAlive(idle: .seconds(1), interval: .seconds(1), probes: 2))
            let unprobed = Stream(peer.url(path), nil)
            let needed = path == "/stream" ? 2 : 1
            try await eventually { probed.received >= needed && unprobed.received >= needed }
            try await expectEnd(of: probed, before: unprobed, [.receiveFailed], when: peer)
        }
    }

    @Test("an upload ends when its bytes stay unacknowledged for too long")
    func sending() async throws {
        try await withPeer { peer in
            let limited = Stream(peer.url("/upload"), KeepAlive(unacknowledgedTimeout: .seconds(2)), isUpload: true)
            let unlimited = Stream(peer.url("/upload"), KeepAlive(), isUpload: true)
            try await eventually { limited.received >= 1 && unlimited.received >= 1 }
            // libcurl may be told of the broken connection when it reads or when it writes.
            try await expectEnd(of: limited, before: unlimited, [.sendFailed, .receiveFailed], when: peer)
        }
    }

    /// The session without probes is the control: its idle connection still works when the peer comes back.
    @Test("an idle connection that keep-alive has found dead is not used again")
    func idle() async throws {
        try await withPeer { peer in
            let url = peer.url("/whole")
            let probed = Self.session(KeepAlive(idle: .seconds(1), interval: .seconds(1), probes: 2))
            let unprobed = Self.session(nil)
            for session in [probed, unprobed] { #expect(try await Self.reusesConnection(session, url) == false) }
            for session in [probed, unprobed] { #expect(try await Self.reusesConnection(session, url) == true) }
            #expect(peer.connectedSockets == 2)
            try peer.vanish()
            try await eventually { peer.connectedSockets == 1 }
            try peer.comeBack()
            #expect(try await Self.reusesConnection(probed, url) == false)
            #expect(try await Self.reusesConnection(unprobed, url) == true)
            for session in [probed, unprobed] { #expect(await session.connections.totals.open == 1) }
        }
    }

    /// Even a request that must not be repeated is safe then.
    @Test("a connection that a NAT has forgotten is not used again once keep-alive has found it dead")
    func forgottenWhileIdle() async throws {
        try await withPeer { peer in
            let url = peer.url("/whole")
            let session = Self.session(KeepAlive(idle: .seconds(1), interval: .seconds(1), probes: 2))
            #expect(try await Self.reusesConnection(session, url) == false)
            try peer.forgetConnections()
            try await eventually { peer.connectedSockets == 0 }
            #expect(try await Self.reusesConnection(session, url, .post) == false)
            #expect(try await Self.reusesConnection(session, url, .post) == true)
        }
    }

    /// The server may have carried the request out, so only an idempotent one is repeated.
    @Test(
        "a request over a connection that a NAT has forgotten does not wait for a timeout of its own",
        arguments: [HTTPMethod.get, .post])
    func forgotten(method: HTTPMethod) async throws {
        try await withPeer { peer in
            let url = peer.url("/whole")
            let session = Self.session(KeepAlive(unacknowledgedTimeout: .seconds(1)))
            #expect(try await Self.reusesConnection(session, url) == false)
            try peer.forgetConnections()
            let start = ContinuousClock.now
            if method == .get {
                #expect(try await Self.reusesConnection(session, url) == false)
            } else {
                let error = await #expect(throws: CurlewError.self) {
                    try await Self.reusesConnection(session, url, method)
                }
                // libcurl may be told of the broken connection when it reads or when it writes.
                #expect([.receiveFailed, .sendFailed].contains(error?.code) && error?.isSafeToRetry == false)
                #expect(try await Self.reusesConnection(session, url, method) == false)
            }
            let delay = ContinuousClock.now - start
            #expect(delay < .seconds(10).asTestBound, "\(delay)")
        }
    }

    /// Nothing else would end the use of the connection: while the request is unacknowledged, the system sends no
    /// probes. A stream that runs on the connection shows that it is not closed under others.
    @Test(
        "the request after a timeout opens another HTTP/2 connection, unless others run on the first one",
        arguments: [false, true])
    func timedOutOverHTTP2(isUsed: Bool) async throws {
        try await withHTTP2Peer { peer, url, trust in
            let session = Self.session(nil, over: peer, trust)
            let stream = isUsed ? Stream(url("/stream"), of: session) : nil
            if let stream { try await eventually { stream.received >= 1 } }
            #expect(try await Self.reusesConnection(session, url("/whole")) == isUsed)
            try peer.vanish()
            let error = await #expect(throws: CurlewError.self) {
                try await session.request(url("/whole")).timeouts { $0.firstByte = .seconds(2) }.data()
            }
            #expect(error?.code == .firstByteTimedOut)
            try peer.comeBack()
            #expect(try await Self.reusesConnection(session, url("/whole")) == isUsed)
            #expect(try await Self.reusesConnection(session, url("/whole")) == true)
            try await eventually { peer.connectedSockets == 1 }
            guard let stream else { return }
            #expect(!stream.request.isFinished)
            stream.request.cancel()
            #expect(await stream.task.value?.code == .cancelled)
        }
    }

    /// The server reads the beginning of the handshake, and responds with nothing.
    @Test("keep-alive ends a handshake that nothing else would end")
    func handshake() async throws {
        try await withPeer { peer in
            let url = peer.url("/head").replacing("http:", with: "https:")
            let probed = Stream(url, KeepAlive(idle: .seconds(1), interval: .seconds(1), probes: 2))
            let unprobed = Stream(url, nil)
            try await eventually { peer.heardConnections == 2 && peer.hasAcknowledgedAll }
            try await expectEnd(of: probed, before: unprobed, [.tlsFailed], when: peer)
        }
    }

    @Test("keep-alive ends a WebSocket whose peer is silent")
    func webSocket() async throws {
        let server = try TestServer()
        defer { server.stop() }
        server.webSocket("/silent", TestServer.WebSocketScript([.send(.text("x")), .silence]))
        let peer = try VanishingPeer(relayingTo: server.port)
        defer { peer.remove() }
        let keepAlive = KeepAlive(idle: .seconds(1), interval: .seconds(1), probes: 2)
        let sockets = [keepAlive, nil].map { Self.session($0).webSocket(peer.url("/silent")) }
        let count = Lock(0)
        let tasks = sockets.map { socket in
            Task { () -> CurlewError? in
                do throws(CurlewError) {
                    for try await _ in socket.messages { count.withLock { $0 += 1 } }
                    return nil
                } catch {
                    return error
                }
            }
        }
        try await eventually { count.withLock { $0 } == 2 && peer.hasAcknowledgedAll }
        try peer.vanish()
        let start = ContinuousClock.now
        let error = try #require(await tasks[0].value)
        let delay = ContinuousClock.now - start
        #expect(error.code == .receiveFailed, "\(error)")
        #expect(delay < .seconds(10).asTestBound, "\(delay)")
        // The error shows that only the cancellation ended it.
        sockets[1].cancel()
        #expect(await tasks[1].value?.code == .cancelled)
    }

    /// The session without keep-alive is the control. With a second request, bytes stay unacknowledged.
    @Test("keep-alive ends requests over HTTP/2, whether or not bytes stay unacknowledged", arguments: [false, true])
    func overHTTP2(sendsMore: Bool) async throws {
        try await withHTTP2Peer { peer, url, trust in
            let keepAlive = KeepAlive(idle: .seconds(1), interval: .seconds(1), probes: 2)
            let limited = Stream(url("/stream"), of: Self.session(keepAlive, over: peer, trust))
            let unlimited = Stream(url("/stream"), of: Self.session(nil, over: peer, trust))
            try await eventually { limited.received >= 1 && unlimited.received >= 1 && peer.hasAcknowledgedAll }
            try peer.vanish()
            let start = ContinuousClock.now
            let more = { (first: Stream) in sendsMore ? [first, Stream(url("/stream"), of: first.session)] : [first] }
            let (ending, open) = (more(limited), more(unlimited))
            for stream in ending {
                let error = try #require(await stream.task.value)
                // A request without a response is sent again, over a connection that cannot be opened.
                let codes: [CurlewError.Code] = [
                    .receiveFailed, .sendFailed, .truncated, .connectTimedOut, .connectFailed,
                ]
                #expect(codes.contains(error.code), "\(error)")
            }
            let delay = ContinuousClock.now - start
            #expect(delay < .seconds(60).asTestBound, "\(delay)")
            for stream in open {
                #expect(!stream.request.isFinished)
                stream.request.cancel()
                #expect(await stream.task.value?.code == .cancelled)
            }
        }
    }

    /// Each PING is unacknowledged as well. TCP decides whether the connection lives: libcurl does not check that
    /// PINGs are answered.
    @Test(
        "PINGs do not keep a stream from a vanished peer alive",
        .enabled(if: Capabilities.current.isAtLeast(8, 10, 0), "libcurl before 8.10"))
    func pings() async throws {
        try await withHTTP2Peer { peer, url, trust in
            let keepAlive = KeepAlive(idle: .seconds(2), interval: .seconds(1), probes: 2)
            let session = Self.session(keepAlive, over: peer, trust) { $0.http2PingInterval = .seconds(1) }
            let stream = Stream(url("/stream"), of: session)
            try await eventually { stream.received >= 1 }
            try peer.vanish()
            let start = ContinuousClock.now
            let error = try #require(await stream.task.value)
            #expect([.receiveFailed, .sendFailed, .truncated].contains(error.code), "\(error)")
            let delay = ContinuousClock.now - start
            #expect(delay < .seconds(20).asTestBound, "\(delay)")
        }
    }

    /// Runs `body` with a server of HTTP/2 behind a peer that can vanish, its URLs, and the roots that trust it.
    private func withHTTP2Peer(
        _ body: (VanishingPeer, @escaping (String) -> String, TrustRoots) async throws -> Void
    ) async throws {
        var configuration = TestServer.Configuration()
        configuration.tls = TestServer.TLS()
        configuration.tls?.names = ["peer.test"]
        configuration.protocols = [.http2]
        let server = try TestServer(configuration)
        defer { server.stop() }
        let gate = Gate()
        server.route("/whole") { _ in .text("whole") }
        server.route("/stream") { _ in .text("hello, stream").stalling(until: gate, at: .inBody(after: 5)) }
        let peer = try VanishingPeer(relayingTo: server.port)
        defer { peer.remove() }
        let port = peer.port
        try await body(peer, { "https://peer.test:\(port)\($0)" }, server.trustRoots)
    }

    private static func session(
        _ keepAlive: KeepAlive?, over peer: VanishingPeer, _ trust: TrustRoots,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.keepAlive = keepAlive
                $0.timeouts.idle = nil
                $0.timeouts.firstByte = nil
                $0.tls.trustRoots = trust
                $0.dns.overrides = ["peer.test": [peer.address]]
                change(&$0)
            })
    }

    /// A session whose requests wait for a silent server without end.
    private static func session(_ keepAlive: KeepAlive?) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.keepAlive = keepAlive
                $0.timeouts.idle = nil
                $0.timeouts.firstByte = nil
            })
    }

    private static func reusesConnection(
        _ session: Session, _ url: String, _ method: HTTPMethod = .get
    ) async throws -> Bool? {
        let request = session.request(url, method: method)
        _ = try await request.data()
        return request.metrics?.isConnectionReused
    }

    private func withPeer(_ body: (VanishingPeer) async throws -> Void) async throws {
        let peer = try VanishingPeer()
        defer { peer.remove() }
        try await body(peer)
    }

    /// Lets the peer vanish, and expects that the first stream ends within seconds while the second one stays open.
    private func expectEnd(
        of ending: Stream, before other: Stream, _ codes: Set<CurlewError.Code>, when peer: VanishingPeer
    ) async throws {
        try peer.vanish()
        let start = ContinuousClock.now
        let error = try #require(await ending.task.value)
        let delay = ContinuousClock.now - start
        #expect(codes.contains(error.code), "\(error)")
        #expect(error.native != nil)
        // Three seconds, and a probe that the system sends late.
        #expect(delay < .seconds(10).asTestBound, "\(delay)")
        // The error shows that only the cancellation ended it.
        #expect(!other.request.isFinished)
        other.request.cancel()
        #expect(await other.task.value?.code == .cancelled)
        for session in [ending.session, other.session] {
            #expect(await session.connections.totals.inUse == 0)
        }
    }
}

/// A stream in a session without timeouts for a silent server, and the task that reads it.
private struct Stream {
    let session: Session
    let request: DataStreamRequest
    let task: Task<CurlewError?, Never>
    private let count: Lock<Int>

    /// The number of informational responses and chunks.
    var received: Int { count.withLock { $0 } }

    init(_ url: String, _ keepAlive: KeepAlive?, isUpload: Bool = false) {
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.keepAlive = keepAlive
                $0.timeouts.idle = nil
                $0.timeouts.firstByte = nil
            })
        self.init(url, of: session, isUpload: isUpload)
    }

    init(_ url: String, of session: Session, isUpload: Bool = false) {
        let count = Lock(0)
        let endless = RequestBody.sequence {
            AsyncStream<Data>(unfolding: {
                try? await Task.sleep(for: .milliseconds(10))
                return Data(repeating: 0x61, count: 1_000)
            })
        }
        let request =
            isUpload ? session.streamRequest(url, method: .post, body: endless) : session.streamRequest(url)
        request.onInformationalResponse { _ in count.withLock { $0 += 1 } }
        task = Task {
            do throws(CurlewError) {
                for try await _ in request.chunks { count.withLock { $0 += 1 } }
                return nil
            } catch {
                return error
            }
        }
        (self.session, self.request, self.count) = (session, request, count)
    }
}
