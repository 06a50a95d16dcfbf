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

/// A stream in a new session, without timeouts for a silent server, and the task that reads it.
private struct Stream {
    let session: Session
    let request: DataStreamRequest
    let task: Task<CurlewError?, Never>
    private let count: Lock<Int>

    /// The number of informational responses and chunks.
    var received: Int { count.withLock { $0 } }

    init(_ url: String, _ keepAlive: KeepAlive?, isUpload: Bool = false) {
        let count = Lock(0)
        session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.keepAlive = keepAlive
                $0.timeouts.idle = nil
                $0.timeouts.firstByte = nil
            })
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
        (self.request, self.count) = (request, count)
    }
}
