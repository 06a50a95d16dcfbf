import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite("TestServer: TLS", .enabled(if: Capabilities.current.usesOpenSSL, "needs OpenSSL"), .timeLimit(.minutes(4)))
struct ServerTLSTests {
    private func server(_ change: (inout TestServer.TLS) -> Void = { _ in }) throws -> TestServer {
        var tls = TestServer.TLS()
        change(&tls)
        var configuration = TestServer.Configuration()
        configuration.tls = tls
        return try TestServer(configuration)
    }

    private func session(trusting server: TestServer) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.tls.trustRoots = server.trustRoots
                $0.proxy = .none
            })
    }

    @Test func clientThatTrustsCertificateIsAnswered() async throws {
        let server = try server()
        let session = session(trusting: server)
        #expect(server.url.scheme == "https")
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let response = await session.request(server.url("/bytes/1000000")).response()
        #expect(response.data == TestServer.patternBytes(count: 1_000_000))
        #expect(response.metrics?.tlsVersion?.isEmpty == false)
        _ = try await session.upload(body, to: server.url("/post")).data()
        #expect(server.requests.map(\.isSecure) == [true, true])
        #expect(server.requests.last?.body == body)
        #expect(server.connectionCount == 1)
        await session.invalidate()
    }

    @Test func redirectsStayOnHTTPS() async throws {
        let server = try server()
        let session = session(trusting: server)
        _ = try await session.request(server.url("/absolute-redirect/2")).data()
        #expect(server.requests.count == 3)
        await session.invalidate()
    }

    @Test func clientThatDoesNotTrustCertificateRefuses() async throws {
        let (server, other) = (try server(), try server())
        let session = session(trusting: other)
        #expect(await failureCode(session.request(server.url("/get"))) == .certificateUntrusted)
        #expect(server.requests.isEmpty)
        await session.invalidate()
    }

    @Test func certificateMayHaveWrongNameOrDate() async throws {
        let named = try server { $0.names = ["elsewhere.test"] }
        let expired = try server { $0.validUntil = .seconds(-60) }
        let (first, second) = (session(trusting: named), session(trusting: expired))
        #expect(await failureCode(first.request(named.url("/get"))) == .certificateHostMismatch)
        #expect(await failureCode(second.request(expired.url("/get"))) == .certificateExpired)
        await first.invalidate()
        await second.invalidate()
    }

    @Test func tlsVersionIsLimited() async throws {
        let server = try server { $0.maximumVersion = .v1_2 }
        let old = session(trusting: server)
        let response = await old.request(server.url("/get")).response()
        #expect(response.metrics?.tlsVersion == "TLSv1.2")
        await old.invalidate()
        let new = Session(
            configuration: SessionConfiguration {
                $0.tls.trustRoots = server.trustRoots
                $0.tls.minimumVersion = .v1_3
            })
        #expect(await failureCode(new.request(server.url("/get"))) == .tlsFailed)
        await new.invalidate()
    }

    @Test(arguments: [0, 1, 70_000] as [Int64])
    func faultsApplyOverTLS(count: Int64) async throws {
        let server = try server()
        let session = session(trusting: server)
        server.script("/file", .bytes(100_000).faulting(.reset, at: .inBody(after: count)), .bytes(10))
        let stopped = await failureCode(session.request(server.url("/file")))
        #expect(stopped == .receiveFailed || stopped == .truncated, "\(String(describing: stopped))")
        #expect(try await session.request(server.url("/file")).data().count == 10)
        await session.invalidate()
    }

    @Test func bodyThatEndsWithConnectionIsComplete() async throws {
        let server = try server()
        let session = session(trusting: server)
        server.script("/until-close", .bytes(200_000).changed { $0.framing = .untilClose })
        #expect(try await session.request(server.url("/until-close")).data().count == 200_000)
        await session.invalidate()
    }

    @Test func plainTextClientGetsNoResponse() throws {
        let server = try server()
        let client = try WireClient(port: server.port)
        client.send("GET /get HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(throws: (any Error).self) { try client.response() }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: ["", "a,b", "DNS:x", "a b", "ä.test"])
    func invalidCertificateNamesAreRefused(name: String) {
        #expect(throws: TestServer.TLSFailure.invalidName(name)) { try server { $0.names = [name] } }
    }

    @Test func contradictoryTLSVersionsAreRefused() {
        #expect(throws: TestServer.TLSFailure.self) {
            try server {
                $0.minimumVersion = .v1_3
                $0.maximumVersion = .v1_2
            }
        }
    }
}
