import Curlew
import CurlewTesting
import Foundation
import Testing

/// WebSockets with Python's `websockets`, directly and through proxies and reverse proxies.
@Suite("WebSockets with real servers", .realServers, .timeLimit(.minutes(4)))
struct WebSocketTests {
    /// Messages of text and bytes, in every form of the length field. The server echoes each of them.
    private static let messages: [WebSocketMessage] = [
        .text("hello"), .text(""), .data(Data([0, 255])), .text(String(repeating: "wörd ", count: 40)),
        .data(TestServer.patternBytes(count: 1_000_000)), .text("end"),
    ]

    private func talk(over socket: WebSocketRequest) async throws {
        #expect(try await socket.opened().status == 101)
        var answers = socket.messages.makeAsyncIterator()
        for message in Self.messages {
            try await socket.send(message)
            let answer = try await answers.next()
            #expect(answer == message)
        }
        #expect(try await socket.ping() > .zero)
        try await socket.close()
        #expect(socket.closeCode == .normalClosure)
    }

    /// Returns the fields of the handshake that the server received.
    private func fields(_ socket: WebSocketRequest) async throws -> String {
        for try await message in socket.messages {
            if case .text(let text) = message { return text }
        }
        return ""
    }

    @Test(
        "a WebSocket works with servers and reverse proxies, with and without TLS and compression",
        arguments: [
            "WEBSOCKETS", "WEBSOCKETS_TLS", "NGINX", "NGINX_TLS", "NGINX_TLS_HTTP1", "NGINX_TLS13", "HAPROXY",
            "HAPROXY_TLS",
        ],
        [WebSocketOptions.Compression.negotiated, .off])
    func direct(server: String, compression: WebSocketOptions.Compression) async throws {
        let url = try IntegrationEnvironment.url(server, "/socket/echo")
        try await talk(over: makeTrustingSession().webSocket(url) { $0.compression = compression })
    }

    @Test("the handshake's fields and subprotocol pass through a reverse proxy", arguments: ["NGINX", "HAPROXY"])
    func fieldsArrive(server: String) async throws {
        let url = try IntegrationEnvironment.url(server, "/socket/fields")
        let socket = try makeTrustingSession().webSocket(url, protocols: ["other", "chat"], headers: ["X-Own": "mine"])
        let seen = try await fields(socket)
        #expect(seen.contains("via=\(server.lowercased())\n"))
        #expect(seen.contains("x-own=mine\n"))
        #expect(socket.selectedProtocol == "chat")
    }

    @Test(
        "a WebSocket works through HTTP proxies, a proxy over TLS, and SOCKS",
        arguments: ["SQUID", "SQUID_BASIC", "PROXY", "HAPROXY_TLS_PROXY", "DANTE", "SOCKS"], ["NGINX", "NGINX_TLS"])
    func forward(proxy: String, server: String) async throws {
        let session = try makeTrustingSession { configuration in
            let url = try IntegrationEnvironment.url(proxy)
            guard proxy == "SQUID_BASIC" else { return configuration.proxy = .url(url) }
            configuration.proxy = .url(
                url, username: try IntegrationEnvironment.text("SQUID_USER"),
                password: try IntegrationEnvironment.text("SQUID_PASSWORD"))
        }
        // The URL has an address, because dante refuses IPv6. The certificate is valid for that address, too.
        let port = try #require(IntegrationEnvironment.url(server).port)
        let scheme = server == "NGINX" ? "ws" : "wss"
        try await talk(over: session.webSocket("\(scheme)://127.0.0.1:\(port)/socket/echo"))
    }

    @Test func refusalByWebSocketProxyIsProxyFailed() async throws {
        let session = try makeTrustingSession {
            $0.proxy = .url(try IntegrationEnvironment.url("SQUID_BASIC"), username: "stranger", password: "wrong")
        }
        let socket = session.webSocket(try IntegrationEnvironment.url("NGINX_TLS", "/socket/echo"))
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .proxyFailed)
        #expect(error?.responseCode == 407)
    }

    @Test func webSocketWorksOverUnixSocket() async throws {
        let path = try IntegrationEnvironment.text("NGINX_UNIX_SOCKET")
        let session = try makeTrustingSession { $0.unixSocketPath = path }
        try await talk(over: session.webSocket("ws://localhost/socket/echo"))
    }

    // MARK: Trust

    @Test("an untrusted certificate prevents the connection", arguments: ["WEBSOCKETS_TLS", "NGINX_TLS"])
    func untrusted(server: String) async throws {
        let session = try makeTrustingSession { $0.tls.trustRoots = .system }
        let socket = session.webSocket(try IntegrationEnvironment.url(server, "/socket/echo"))
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .certificateUntrusted)
        #expect(error?.phase == .tls)
    }

    @Test(
        "expired certificates and those of another host are refused",
        arguments: [
            ("NGINX_WRONG_HOST", CurlewError.Code.certificateHostMismatch), ("NGINX_EXPIRED", .certificateExpired),
        ])
    func wrong(server: String, code: CurlewError.Code) async throws {
        let socket = try makeTrustingSession().webSocket(try IntegrationEnvironment.url(server, "/socket/echo"))
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == code)
    }

    @Test("a public key pin accepts its own key and refuses another", arguments: [true, false])
    func pins(isRight: Bool) async throws {
        let certificates = Certificate.all(in: try Data(contentsOf: IntegrationEnvironment.file("GOOD_CERTIFICATE")))
        let right = try #require(certificates.first).publicKey.pin
        let wrong = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        let session = try makeTrustingSession { $0.tls.publicKeyPins = [isRight ? right : wrong] }
        let socket = session.webSocket(try IntegrationEnvironment.url("NGINX_TLS", "/socket/echo"))
        if isRight { return try await talk(over: socket) }
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .certificateUntrusted)
    }

    @Test(
        "a server trust evaluator decides over wss, too",
        .enabled(if: Capabilities.current.usesOpenSSL, "evaluators need OpenSSL"))
    func evaluator() async throws {
        let manager = ServerTrustManager(
            evaluators: [
                "localhost": PublicKeysTrustEvaluator(pins: ["sha256//" + Data(count: 32).base64EncodedString()])
            ])
        let session = try makeTrustingSession(serverTrustManager: manager)
        let socket = session.webSocket(try IntegrationEnvironment.url("NGINX_TLS", "/socket/echo"))
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .certificateUntrusted)
    }

    @Test func webSocketSendsClientCertificate() async throws {
        let url = try IntegrationEnvironment.url("NGINX_CLIENT_CERTIFICATE", "/socket/echo")
        let identity = ClientIdentity.files(
            certificate: try IntegrationEnvironment.file("CLIENT_CERTIFICATE"),
            key: try IntegrationEnvironment.file("CLIENT_KEY"))
        try await talk(over: makeTrustingSession { $0.tls.clientIdentity = identity }.webSocket(url))
        let refused = try makeTrustingSession().webSocket(url)
        let error = await #expect(throws: CurlewError.self) { try await refused.opened() }
        #expect(error?.code == .webSocketRefused)
        #expect(error?.responseCode == 400)
    }

    // MARK: Responses and close codes

    @Test func serverWithoutWebSocketsIsAnError() async throws {
        let socket = try makeTrustingSession().webSocket(try IntegrationEnvironment.url("NGINX", "/small"))
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .webSocketRefused)
        #expect(error?.responseCode == 200)
        #expect(error?.responseBody == Data("Hello from a real server.\n".utf8))
    }

    @Test("a reverse proxy whose server is down refuses the handshake with status 503")
    func dead() async throws {
        let socket = try makeTrustingSession().webSocket(try IntegrationEnvironment.url("HAPROXY_DEAD", "/socket/echo"))
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.responseCode == 503)
    }

    @Test("the server's close code and reason are reported", arguments: ["WEBSOCKETS", "NGINX", "HAPROXY"])
    func closeCode(server: String) async throws {
        let socket = try makeTrustingSession().webSocket(try IntegrationEnvironment.url(server, "/socket/close"))
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .webSocketClosed)
        #expect(error?.closeCode?.rawValue == 4001)
        #expect(error?.closeReason == "enough")
    }
}
