import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Connections that NTLM or Negotiate may authenticate", .timeLimit(.minutes(4)))
struct AuthenticatedConnectionTests {
    /// An NTLM message of type 2 with an 8-byte challenge and no target information.
    private static let ntlmChallenge: String = {
        var message = Data("NTLMSSP\0".utf8)
        message += [2, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, 0x06, 0x82, 0, 0]
        message += [1, 2, 3, 4, 5, 6, 7, 8] + [UInt8](repeating: 0, count: 8) + [0, 0, 0, 0, 48, 0, 0, 0]
        return message.base64EncodedString()
    }()

    private static let features = Capabilities.ofLibcurl.features

    /// Answers like a Windows server. libcurl accepts an offer of Negotiate only with a Kerberos ticket, which tests do
    /// not have.
    private static func serve(_ server: TestServer, offering schemes: [String] = ["NTLM"]) {
        server.route("/x") { request in
            let field = request.headers["Authorization"] ?? ""
            guard field.hasPrefix("NTLM "), let message = Data(base64Encoded: String(field.dropFirst(5))),
                message.count > 8
            else {
                return schemes.reduce(.text("who?", status: 401)) { $0.header("WWW-Authenticate", $1) }
            }
            if message[8] == 3 { return .text("ada") }
            return .text("more", status: 401).header("WWW-Authenticate", "NTLM \(ntlmChallenge)")
        }
        server.route("/open") { _ in .text("open") }
    }

    private static func credentials(_ scheme: TransferAuthentication.Scheme) -> TransferAuthentication {
        TransferAuthentication(scheme: scheme, username: "ada", password: "secret")
    }

    @Test(
        .enabled(if: features.contains("NTLM"), "libcurl has no NTLM"),
        arguments: [TransferAuthentication.Scheme.ntlm, .any], [HTTPMethod.get, .put])
    func ntlmHandshakeUsesOneConnectionThatIsNotReused(
        _ scheme: TransferAuthentication.Scheme, _ method: HTTPMethod
    ) async throws {
        try await withTransport { transport, server in
            Self.serve(server)
            // Leaves two idle connections that could be reused.
            async let first = transport.fetch(request(server.url("/open")))
            async let second = transport.fetch(request(server.url("/open")))
            _ = try await (first, second)
            let body: BodySource = method == .put ? .data(Data(count: 100_000)) : .none
            let result = try await transport.fetch(
                request(server.url("/x"), method: method, body: body) {
                    $0.options.authentication = Self.credentials(scheme)
                })
            #expect(result.text == "ada")
            let authenticated = try #require(server.requests.last).connection
            let rounds = server.requests.filter { $0.path == "/x" && $0.connection == authenticated }
            #expect(rounds.count { $0.headers["Authorization"] != nil } == 2)
            for _ in 0..<3 { _ = try await transport.fetch(request(server.url("/open"))) }
            let other = try await transport.fetch(
                request(server.url("/x")) { $0.options.authentication = Self.credentials(.basic) })
            #expect(other.status == 401)
            #expect(server.requests.last { $0.connection == authenticated }?.path == "/x")
            #expect(server.requests.count { $0.connection == authenticated } == rounds.count)
        }
    }

    @Test(
        .enabled(
            if: features.contains("SPNEGO") && Capabilities.ofLibcurl.quirks.asksBeforeSending,
            "libcurl has no Negotiate, or does not ask before it answers"))
    func offeredNegotiateLeavesTheSharedConnection() async throws {
        try await withTransport { transport, server in
            Self.serve(server, offering: ["Negotiate", "Basic realm=\"r\""])
            let open = try await transport.fetch(request(server.url("/open")))
            #expect(open.status == 200)
            let shared = server.requests[0].connection
            _ = try await transport.fetch(
                request(server.url("/x")) { $0.options.authentication = Self.credentials(.any) })
            // The server sent its challenge over the shared connection, and got the answer over another one.
            #expect(server.requests.count { $0.connection == shared } == 2)
            #expect(server.requests.last?.connection != shared)
            let own = server.requests.last?.connection
            _ = try await transport.fetch(request(server.url("/open")))
            #expect(server.requests.last?.connection != own)
        }
    }

    @Test(
        .enabled(if: features.contains("SPNEGO"), "libcurl has no Negotiate"),
        arguments: [TransferAuthentication.Scheme.negotiate, .any])
    func requestsWithNegotiateHaveConnectionsOfTheirOwn(_ scheme: TransferAuthentication.Scheme) async throws {
        try await withTransport { transport, server in
            Self.serve(server, offering: ["Negotiate"])
            async let first = transport.fetch(request(server.url("/open")))
            async let second = transport.fetch(request(server.url("/open")))
            _ = try await (first, second)
            var authenticated: Set<Int> = []
            for _ in 0..<3 {
                let before = server.requests.count
                _ = try await transport.fetch(
                    request(server.url("/x")) { $0.options.authentication = Self.credentials(scheme) })
                let connection = try #require(server.requests.dropFirst(before).last?.connection)
                #expect(authenticated.insert(connection).inserted)
                let other = try await transport.fetch(request(server.url("/open")))
                #expect(other.text == "open")
                #expect(try !authenticated.contains(#require(server.requests.last).connection))
            }
        }
    }

    @Test func digestRequestsShareConnections() async throws {
        try await withTransport { transport, server in
            server.route("/x") { request in
                request.headers["Authorization"] == nil
                    ? .text("who?", status: 401).header(
                        "WWW-Authenticate", "Digest realm=\"r\", nonce=\"1\", qop=\"auth\"")
                    : .text("ada")
            }
            for _ in 0..<3 {
                let result = try await transport.fetch(
                    request(server.url("/x")) { $0.options.authentication = Self.credentials(.any) })
                #expect(result.text == "ada")
            }
            #expect(server.connectionCount == 1)
            #expect(
                server.requests.map { $0.headers["Authorization"] != nil } == [false, true, false, true, false, true])
        }
    }
}
