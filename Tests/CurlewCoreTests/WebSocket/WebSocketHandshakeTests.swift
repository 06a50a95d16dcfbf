internal import Testing

@testable import CurlewCore

@Suite("WebSocket handshake", .timeLimit(.minutes(4)))
struct WebSocketHandshakeTests {
    private static let key = WebSocketKey("dGhlIHNhbXBsZSBub25jZQ==")

    private static func head(_ changes: [String: String?] = [:], status: Int = 101) -> ResponseHead {
        var headers: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        ]
        for (name, value) in changes { headers[name] = value }
        return ResponseHead(status: status, headers: headers)
    }

    private static func handshake(protocols: [String] = [], compresses: Bool = true) throws -> WebSocketHandshake {
        WebSocketHandshake(
            key: try #require(key), protocols: protocols, compression: compresses ? .init() : nil)
    }

    @Test(
        "SHA-1 gives the known digests",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            (String(repeating: "a", count: 1000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
        ])
    func sha1(text: String, expected: String) {
        let digits = Array("0123456789abcdef")
        let hex = SHA1.digest(Array(text.utf8)).map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined()
        #expect(hex == expected)
    }

    @Test("the accept value of the RFC's key is the one in the RFC")
    func answer() throws {
        #expect(try #require(Self.key).answer == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("random keys are valid and differ, and other texts are not keys")
    func keys() {
        var random = SystemRandomNumberGenerator()
        let keys = Set((0..<100).map { _ in WebSocketKey(using: &random).text })
        #expect(keys.count == 100)
        #expect(keys.allSatisfy { WebSocketKey($0) != nil })
        #expect(
            ["", "AAAA", "dGhlIHNhbXBsZSBub25jZQ=", "!!!!IHNhbXBsZSBub25jZQ=="].allSatisfy { WebSocketKey($0) == nil })
    }

    @Test("the handshake request has the fields of the RFC")
    func request() throws {
        let headers = try Self.handshake(protocols: ["chat", "superchat"]).headers
        #expect(
            headers.map { "\($0.name): \($0.value)" } == [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: chat, superchat",
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
            ])
        let plain = try Self.handshake(compresses: false).headers
        #expect(!plain.contains(name: "Sec-WebSocket-Extensions") && !plain.contains(name: "Sec-WebSocket-Protocol"))
    }

    @Test(
        "names of subprotocols must be tokens without duplicates",
        arguments: [
            ([], true), (["a", "b.c"], true), (["a", "a"], false), ([""], false), (["a b"], false), (["a,b"], false),
        ]
            as [([String], Bool)])
    func protocolNames(names: [String], isValid: Bool) throws {
        #expect(WebSocketHandshake.areValid(names) == isValid)
    }

    @Test(
        "a valid response completes the handshake",
        arguments: [
            ([:], nil, nil), (["Upgrade": "WebSocket", "Connection": "keep-alive, upgrade"], nil, nil),
            (["Sec-WebSocket-Protocol": "b"], "b", nil),
            (["Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits=9"], nil, 9),
            (["Sec-WebSocket-Extensions": ""], nil, nil),
        ] as [([String: String?], String?, Int?)])
    func accepted(changes: [String: String?], selected: String?, bits: Int?) throws {
        let agreement = try Self.handshake(protocols: ["a", "b"]).agreement(with: Self.head(changes))
        #expect(agreement.selectedProtocol == selected)
        #expect(agreement.compression?.clientMaxWindowBits == bits)
    }

    @Test(
        "a response with an invalid field is refused",
        arguments: [
            ["Upgrade": nil], ["Upgrade": "h2c"], ["Upgrade": "websocket, h2c"], ["Connection": nil],
            ["Connection": "close"], ["Connection": "upgraded"], ["Sec-WebSocket-Accept": nil],
            ["Sec-WebSocket-Accept": "S3pPLMBiTxaQ9kYGzzhZRbK+xOo="], ["Sec-WebSocket-Accept": ""],
            ["Sec-WebSocket-Protocol": "c"], ["Sec-WebSocket-Protocol": "A"], ["Sec-WebSocket-Protocol": "a, b"],
            ["Sec-WebSocket-Protocol": ""],
            ["Sec-WebSocket-Extensions": "x-webkit-deflate-frame"],
            ["Sec-WebSocket-Extensions": "permessage-deflate, permessage-deflate"],
            ["Sec-WebSocket-Extensions": "permessage-deflate; unknown"],
            ["Sec-WebSocket-Extensions": "permessage-deflate;"],
            ["Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits=99"],
        ] as [[String: String?]])
    func refused(changes: [String: String?]) throws {
        let handshake = try Self.handshake(protocols: ["a", "b"])
        #expect(throws: WebSocketHandshake.Refusal.self) { try handshake.agreement(with: Self.head(changes)) }
    }

    @Test(
        "a status other than 101, and an extension or subprotocol that was not requested, are refused",
        arguments: [200, 301, 401, 426, 500])
    func statuses(status: Int) throws {
        let handshake = try Self.handshake(compresses: false)
        #expect(throws: WebSocketHandshake.Refusal.self) {
            try handshake.agreement(with: Self.head(status: status))
        }
        #expect(throws: WebSocketHandshake.Refusal.self) {
            try handshake.agreement(with: Self.head(["Sec-WebSocket-Extensions": "permessage-deflate"]))
        }
        #expect(throws: WebSocketHandshake.Refusal.self) {
            try handshake.agreement(with: Self.head(["Sec-WebSocket-Protocol": "a"]))
        }
    }

    @Test("a response that repeats Sec-WebSocket-Accept is refused")
    func repeated() throws {
        var head = Self.head()
        head.headers.append(name: "Sec-WebSocket-Accept", value: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        let handshake = try Self.handshake()
        #expect(throws: WebSocketHandshake.Refusal.self) { try handshake.agreement(with: head) }
    }

    // MARK: Server

    @Test("server and client agree on the subprotocol and the compression", arguments: [[], ["b"], ["c", "b", "a"]])
    func bothSides(protocols: [String]) throws {
        let client = try Self.handshake(protocols: ["a", "b"])
        let acceptance = WebSocketAcceptance(
            method: "GET", version: .http1_1, headers: client.headers, protocols: protocols)
        guard case .accept(let headers, let agreement) = acceptance else {
            Issue.record("\(acceptance)")
            return
        }
        #expect(try client.agreement(with: ResponseHead(status: 101, headers: headers)) == agreement)
        #expect(agreement.selectedProtocol == (protocols.isEmpty ? nil : "b"))
        #expect(agreement.compression != nil)
    }

    @Test(
        "a server refuses an invalid handshake request with the right status",
        arguments: [
            (["Upgrade": nil], "GET", 426), (["Connection": "close"], "GET", 426), ([:], "POST", 400),
            (["Sec-WebSocket-Version": "12"], "GET", 426), (["Sec-WebSocket-Version": nil], "GET", 426),
            (["Sec-WebSocket-Key": nil], "GET", 400), (["Sec-WebSocket-Key": "short"], "GET", 400),
            (["Sec-WebSocket-Extensions": "permessage-deflate; ="], "GET", 400),
        ] as [([String: String?], String, Int)])
    func serverRefuses(changes: [String: String?], method: String, status: Int) throws {
        var headers = try Self.handshake().headers
        for (name, value) in changes { headers[name] = value }
        let acceptance = WebSocketAcceptance(method: method, version: .http1_1, headers: headers)
        guard case .refuse(status, _, _) = acceptance else {
            Issue.record("\(acceptance)")
            return
        }
    }
}
