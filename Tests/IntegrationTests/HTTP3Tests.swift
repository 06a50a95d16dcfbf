import Curlew
import CurlewTransport
import Foundation
import Testing

/// HTTP/3 of sessions and transports at a real server.
@Suite("HTTP/3 at real servers", .realServers, .http3, .timeLimit(.minutes(4)))
struct HTTP3Tests {
    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) throws -> Session {
        try makeTrustingSession {
            $0.dns.ipVersion = .v4
            change(&$0)
        }
    }

    private func version(_ session: Session, _ server: String, _ path: String = "/small") async throws -> HTTPVersion? {
        let response = await session.request(try IntegrationEnvironment.url(server, path)).response()
        if let error = response.error { throw error }
        return response.metrics?.httpVersion
    }

    /// Sends `count` requests one after another, and returns their versions.
    private func versions(_ count: Int, _ session: Session, _ server: String) async throws -> [HTTPVersion?] {
        var versions: [HTTPVersion?] = []
        for _ in 0..<count { versions.append(try await version(session, server)) }
        return versions
    }

    // MARK: HTTP/3 only

    @Test func http3PolicyUsesHTTP3AtOnce() async throws {
        let session = try session { $0.httpVersion = .http3 }
        let request = session.request(try IntegrationEnvironment.url("CADDY", "/protocol"))
        #expect(try await request.string() == "HTTP/3.0")
        let metrics = try #require(request.metrics)
        #expect(metrics.httpVersion == .http3)
        #expect(metrics.connected != nil && metrics.tlsEstablished != nil && metrics.bytesReceived > 0)
        let port = try #require(try IntegrationEnvironment.url("CADDY").port)
        #expect(metrics.remoteAddress == "127.0.0.1:\(port)")
        #expect(try await version(session, "CADDY") == .http3)
    }

    @Test func http3PolicyNeverFallsBack() async throws {
        let session = try session { $0.httpVersion = .http3 }
        let url = try IntegrationEnvironment.url("CADDY_BROKEN", "/small")
        await #expect { try await session.request(url).data() } throws: { CurlewError.Code.connectFailed ~= $0 }
        let plain = try IntegrationEnvironment.url("NGINX", "/small")
        await #expect { try await session.request(plain).data() } throws: { CurlewError.Code.unsupported ~= $0 }
    }

    @Test func anUntrustedServerIsRefused() async throws {
        let url = try IntegrationEnvironment.url("CADDY", "/small")
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.dns.ipVersion = .v4
                $0.httpVersion = .http3
            })
        await #expect { try await session.request(url).data() } throws: { ($0 as? CurlewError)?.isTLS == true }
        let pinned = try self.session {
            $0.httpVersion = .http3
            $0.tls.publicKeyPins = ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        }
        await #expect { try await pinned.request(url).data() } throws: { ($0 as? CurlewError)?.isTLS == true }
    }

    // MARK: Announced alternatives

    @Test func announcedHTTP3IsUsedByNextRequest() async throws {
        let session = try session()
        #expect(try await versions(4, session, "CADDY") == [.http2, .http3, .http3, .http3])
        // The first HTTP/3 request made one connection, which the later ones share.
        let request = session.request(try IntegrationEnvironment.url("CADDY", "/small"))
        _ = try await request.data()
        #expect(request.metrics?.isConnectionReused == true)
    }

    @Test func storedAlternativeIsUsedByNextSession() async throws {
        let file = URL.temporaryDirectory.appending(path: "alternatives-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let store = AlternativeServiceStore(file: file)
        #expect(try await version(try session { $0.alternativeServices = store }, "CADDY") == .http2)
        try await store.save()
        let next = try session { $0.alternativeServices = AlternativeServiceStore(file: file) }
        #expect(try await version(next, "CADDY") == .http3)
    }

    @Test func withoutAStoreNoAlternativeIsUsed() async throws {
        #expect(
            try await versions(3, try session { $0.alternativeServices = nil }, "CADDY") == [.http2, .http2, .http2])
        #expect(try await versions(3, try session { $0.httpVersion = .http2 }, "CADDY") == [.http2, .http2, .http2])
        #expect(try await versions(2, try session(), "CADDY_SILENT") == [.http2, .http2])
    }

    @Test func alternativeMayBeAtAnotherHost() async throws {
        let session = try session()
        #expect(try await versions(3, session, "CADDY_ELSEWHERE") == [.http2, .http3, .http3])
    }

    @Test(arguments: ["CADDY_BROKEN", "CADDY_BROKEN_ELSEWHERE"])
    func brokenAlternativeFallsBackToTCPAndIsAvoided(_ server: String) async throws {
        let store = AlternativeServiceStore()
        let session = try session { $0.alternativeServices = store }
        let url = try IntegrationEnvironment.url(server, "/small")
        #expect(try await version(session, server) == .http2)
        #expect(store.hasAlternative(for: url))
        #expect(try await version(session, server) == .http2)
        #expect(!store.hasAlternative(for: url))
        // Each response announces the alternative, but the session avoids it.
        #expect(try await versions(3, session, server) == [.http2, .http2, .http2])
        #expect(!store.hasAlternative(for: url))
    }

    @Test func uploadFallsBackToOriginOfBrokenAlternative() async throws {
        let session = try session()
        #expect(try await version(session, "CADDY_BROKEN_ELSEWHERE") == .http2)
        let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let url = try IntegrationEnvironment.url("CADDY_BROKEN_ELSEWHERE", "/echo")
        let request = session.upload(body, to: url, method: .post)
        #expect(try await request.data() == body)
        #expect(request.metrics?.httpVersion == .http2)
    }

    @Test func aMisdirectedRequestIsAnsweredByTheOrigin() async throws {
        let store = AlternativeServiceStore()
        let session = try session { $0.alternativeServices = store }
        let url = try IntegrationEnvironment.url("CADDY_MISDIRECTED", "/small")
        #expect(try await version(session, "CADDY_MISDIRECTED") == .http2)
        let response = await session.upload(Data(count: 100_000), to: url, method: .post).response()
        #expect(response.response?.statusCode == 200)
        #expect(response.metrics?.httpVersion == .http2)
    }

    /// Before 8.18 libcurl cannot stop a server from sending over QUIC, so a body that may be paused uses HTTP/2.
    @Test func pausableBodyUsesHTTP2BeforeLibcurl818() async throws {
        let session = try session()
        #expect(try await versions(2, session, "CADDY") == [.http2, .http3])
        let request = session.streamRequest(try IntegrationEnvironment.url("CADDY", "/small"))
        var text = ""
        for try await chunk in request.chunks { text += String(decoding: chunk, as: UTF8.self) }
        #expect(text == "Hello from a real server.\n")
        #expect(request.metrics?.httpVersion == (Capabilities.current.quirks.readsQUICWhilePaused ? .http2 : .http3))
    }

    // MARK: Limits

    @Test func sixtyFourConcurrentRequestsShareConnections() async throws {
        let transport = try makeHTTP3Transport()
        let url = try IntegrationEnvironment.url("CADDY", "/info")
        let answers = try await withThrowingTaskGroup(of: Exchange.self) { group in
            for _ in 0..<64 { group.addTask { try await transport.exchange(url) } }
            return try await group.reduce(into: [Exchange]()) { $0.append($1) }
        }
        #expect(answers.count == 64)
        #expect(answers.allSatisfy { $0.metrics.httpVersion == .http3 && $0.status == 200 })
        let connections = transport.statistics.connectionsMade
        #expect((1...Capabilities.current.mostConnectionsOfABurst).contains(connections))
        #expect(answers.count { !$0.metrics.isConnectionReused } == connections)
        #expect(transport.statistics.liveTransfers == 0 && transport.statistics.easyHandlesInUse == 0)
    }

    @Test func addressPolicyAppliesToHTTP3() async throws {
        let transport = try makeHTTP3Transport {
            $0.addressPolicy = .publicOnly
        }
        let error = await transport.failure(try IntegrationEnvironment.url("CADDY", "/small"))
        #expect(error?.code == .addressRefused, "\(String(describing: error))")
        #expect(transport.statistics.connectionsMade == 0)
    }

    @Test func timeoutsApplyToHTTP3() async throws {
        let session = try session { $0.httpVersion = .http3 }
        _ = try await session.request(try IntegrationEnvironment.url("CADDY", "/small")).data()
        let kept = try IntegrationEnvironment.url("CADDY", "/kept")
        let waiting = session.request(kept).timeouts { $0.firstByte = .milliseconds(300) }
        await #expect { try await waiting.data() } throws: { CurlewError.Code.firstByteTimedOut ~= $0 }
        let whole = session.request(kept).timeouts { $0.total = .milliseconds(300) }
        await #expect { try await whole.data() } throws: { CurlewError.Code.totalTimedOut ~= $0 }
        // The timeouts did not end the connection, so another request uses it.
        let request = session.request(try IntegrationEnvironment.url("CADDY", "/small"))
        _ = try await request.data()
        #expect(request.metrics?.isConnectionReused == true)
    }

    @Test func unansweredHTTP3ConnectIsAConnectTimeout() async throws {
        // No program reads this socket.
        let silent = try SilentDatagramSocket()
        defer { silent.close() }
        let session = try session {
            $0.httpVersion = .http3
            $0.timeouts.connect = .milliseconds(300)
        }
        let url = try #require(URL(string: "https://127.0.0.1:\(silent.port)/"))
        await #expect { try await session.request(url).data() } throws: { CurlewError.Code.connectTimedOut ~= $0 }
    }

    @Test func cancelledStreamDoesNotCloseItsConnection() async throws {
        let transport = try makeHTTP3Transport()
        let slow = try IntegrationEnvironment.url("CADDY", "/slow.txt")
        #expect(try await transport.failureIfCancelledAfterHead(slow)?.code == .cancelled)
        let answer = try await transport.exchange(IntegrationEnvironment.url("CADDY", "/small"))
        #expect(answer.metrics.httpVersion == .http3)
        #expect(transport.statistics.connectionsMade == 1)
    }

    /// The body has a known length, because caddy 2.6 does not forward bodies without one.
    @Test func suspendedUploadContinues() async throws {
        let transport = try makeHTTP3Transport()
        let body = Data((0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let sink = CollectingSink(suspendsAtFirstBytes: true)
        let request = makeRequest(
            try IntegrationEnvironment.url("CADDY", "/echo"), method: .post, body: .data(body))
        let running = Task { try await transport.perform(request, sink: sink) }
        while sink.current.bytesSent == 0 { try await Task.sleep(for: .milliseconds(1)) }
        // Another request uses the same connection.
        #expect(try await transport.exchange(IntegrationEnvironment.url("CADDY", "/small")).status == 200)
        let sent = sink.current.bytesSent
        #expect(sent < Int64(body.count))
        #expect(try await transport.exchange(IntegrationEnvironment.url("CADDY", "/small")).status == 200)
        #expect(sink.current.bytesSent == sent)
        sink.current.control?.resume()
        _ = try await running.value
        #expect(sink.current.body == body)
        #expect(transport.statistics.connectionsMade == 1)
    }

    @Test(arguments: [0, 1, 100_000, 2_000_000])
    func anUploadIsEchoed(count: Int) async throws {
        let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let transport = try makeHTTP3Transport()
        let answer = try await transport.exchange(
            IntegrationEnvironment.url("CADDY", "/echo"), method: .post, body: .data(body))
        #expect(answer.metrics.httpVersion == .http3)
        #expect(answer.record.body == body)
    }

    /// caddy itself reads this body, because caddy 2.6 does not forward bodies of unknown length.
    @Test(arguments: [0, 1, 100_000, 2_000_000])
    func aBodyOfUnknownLengthArrives(count: Int) async throws {
        let text = String(repeating: "0123456789", count: count / 10 + 1).prefix(count)
        let session = try session { $0.httpVersion = .http3 }
        let pieces = AsyncStream<Data> { continuation in
            for piece in stride(from: 0, to: count, by: 30_000) {
                continuation.yield(Data(text.utf8.dropFirst(piece).prefix(30_000)))
            }
            continuation.finish()
        }
        let request = session.upload(
            pieces, to: try IntegrationEnvironment.url("CADDY", "/body"), method: .post)
        #expect(try await request.string() == text)
        #expect(request.metrics?.httpVersion == .http3)
    }
}

/// A transport that uses HTTP/3 alone, and only IPv4, because the tests count connections by their sockets.
func makeHTTP3Transport(_ change: (inout TransportConfiguration) -> Void = { _ in }) throws -> CurlTransport {
    try makeTrustingTransport {
        $0.httpVersion = .http3
        $0.dns.ipVersion = .v4
        change(&$0)
    }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test if the running libcurl has HTTP/3.
    static var http3: Self {
        .enabled(
            if: Capabilities.current.features.contains("HTTP3"),
            "libcurl \(Capabilities.current.version) has no HTTP/3: run scripts/matrix gnutls")
    }
}
