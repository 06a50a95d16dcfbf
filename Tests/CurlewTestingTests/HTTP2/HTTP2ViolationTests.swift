import Testing

@testable import CurlewTesting

@Suite("HTTP/2: peers that break the rules") struct HTTP2ViolationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var code: HTTP2ErrorCode
        var begins = true
        var says: @Sendable (inout HTTP2Speaker) -> Void

        var testDescription: String { name }
    }

    /// Violations that end the connection, with the code of its GOAWAY.
    static let ofConnections: [Case] = [
        Case(name: "no preface", code: .protocolError, begins: false) {
            $0.bytes = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        },
        Case(name: "a wrong byte in the preface", code: .protocolError, begins: false) {
            $0.bytes = Array("PRI * HTTP/2.1".utf8)
        },
        Case(name: "no settings first", code: .protocolError, begins: false) {
            $0.bytes = HTTP2Frame.preface
            $0.frame(.ping, [], [UInt8](repeating: 0, count: 8))
        },
        Case(name: "a frame that is too long", code: .frameSizeError) { $0.bytes += [0, 0x40, 1, 0, 0, 0, 0, 0, 1] },
        Case(name: "settings on a stream", code: .protocolError) { $0.frame(.settings, stream: 1) },
        Case(name: "settings of 5 bytes", code: .frameSizeError) { $0.frame(.settings, [], [0, 1, 0, 0, 0]) },
        Case(name: "an acknowledgement with settings", code: .frameSizeError) {
            $0.frame(.settings, .acknowledges, [0, 4, 0, 0, 0, 0])
        },
        Case(name: "a window above 2^31", code: .flowControlError) { $0.frame(.settings, [], [0, 4, 0x80, 0, 0, 0]) },
        Case(name: "frames that are too short", code: .protocolError) { $0.frame(.settings, [], [0, 5, 0, 0, 0, 1]) },
        Case(name: "frames that are too long", code: .protocolError) { $0.frame(.settings, [], [0, 5, 1, 0, 0, 0]) },
        Case(name: "a push that is half allowed", code: .protocolError) {
            $0.frame(.settings, [], [0, 2, 0, 0, 0, 2])
        },
        Case(name: "a push", code: .protocolError) { $0.frame(.pushPromise, stream: 1, [0, 0, 0, 2]) },
        Case(name: "a ping on a stream", code: .protocolError) {
            $0.frame(.ping, stream: 1, [UInt8](repeating: 0, count: 8))
        },
        Case(name: "a short ping", code: .frameSizeError) { $0.frame(.ping, [], [1]) },
        Case(name: "a short GOAWAY", code: .frameSizeError) { $0.frame(.goAway, [], [1]) },
        Case(name: "a GOAWAY on a stream", code: .protocolError) {
            $0.frame(.goAway, stream: 1, [UInt8](repeating: 0, count: 8))
        },
        Case(name: "a short WINDOW_UPDATE", code: .frameSizeError) { $0.frame(.windowUpdate, [], [1]) },
        Case(name: "a window that grows by nothing", code: .protocolError) { $0.window(0, 0) },
        Case(name: "a window that grows too far", code: .flowControlError) {
            $0.window(0, 0x7FFF_FFFF)
            $0.window(0, 0x7FFF_FFFF)
        },
        Case(name: "streams' windows that grow too far", code: .flowControlError) {
            $0.headers(1)
            $0.window(1, 0x7FFF_0000)
            $0.frame(.settings, [], [0, 4, 0x7F, 0xFF, 0xFF, 0xFF])
        },
        Case(name: "a window of a stream that has not begun", code: .protocolError) { $0.window(5, 1) },
        Case(name: "a window of our own stream", code: .protocolError) { $0.window(2, 1) },
        Case(name: "a reset of a stream that has not begun", code: .protocolError) {
            $0.frame(.resetStream, stream: 1, HTTP2Frame.big(8))
        },
        Case(name: "a short reset", code: .frameSizeError) { $0.frame(.resetStream, stream: 1, [1]) },
        Case(name: "data without a stream", code: .protocolError) { $0.data(0, 1) },
        Case(name: "data on a stream that has not begun", code: .protocolError) { $0.data(1, 1) },
        Case(name: "more padding than data", code: .protocolError) {
            $0.headers(1, HTTP2Speaker.fields("POST"), isLast: false)
            $0.frame(.data, .padded, stream: 1, [2, 0])
        },
        Case(name: "padding without a length", code: .protocolError) {
            $0.headers(1, HTTP2Speaker.fields("POST"), isLast: false)
            $0.frame(.data, .padded, stream: 1, [])
        },
        Case(name: "headers without a stream", code: .protocolError) { $0.headers(0) },
        Case(name: "headers on an even stream", code: .protocolError) { $0.headers(2) },
        Case(name: "headers on a stream that is over", code: .streamClosed) {
            $0.headers(1)
            $0.headers(5)
            $0.headers(3)
        },
        Case(name: "a priority that is cut off", code: .frameSizeError) {
            $0.frame(.headers, [.priority, .endHeaders], stream: 1, [0, 0])
        },
        Case(name: "a PRIORITY without a stream", code: .protocolError) {
            $0.frame(.priority, [], [0, 0, 0, 0, 1])
        },
        Case(name: "a short PRIORITY", code: .frameSizeError) { $0.frame(.priority, stream: 1, [1]) },
        Case(name: "a broken header block", code: .compressionError) {
            $0.frame(.headers, [.endHeaders, .endStream], stream: 1, [0x80])
        },
        Case(name: "a continuation of nothing", code: .protocolError) {
            $0.frame(.continuation, .endHeaders, stream: 1, [0x82])
        },
        Case(name: "a continuation of another stream", code: .protocolError) {
            $0.frame(.headers, .endStream, stream: 1, [0x82])
            $0.frame(.continuation, .endHeaders, stream: 3, [0x82])
        },
        Case(name: "a frame amid a header block", code: .protocolError) {
            $0.frame(.headers, .endStream, stream: 1, [0x82])
            $0.frame(.ping, [], [UInt8](repeating: 0, count: 8))
        },
        Case(name: "an endless header block", code: .enhanceYourCalm) {
            $0.frame(.headers, .endStream, stream: 1, [0x82])
            for _ in 0..<10 { $0.frame(.continuation, [], stream: 1, [UInt8](repeating: 0x82, count: 10_000)) }
        },
        Case(name: "continuations of nothing", code: .enhanceYourCalm) {
            $0.frame(.headers, .endStream, stream: 1, [0x82])
            for _ in 0..<200 { $0.frame(.continuation, stream: 1) }
        },
        Case(name: "many pings", code: .enhanceYourCalm) {
            for _ in 0..<200 { $0.frame(.ping, [], [UInt8](repeating: 0, count: 8)) }
        },
        Case(name: "many settings", code: .enhanceYourCalm) { for _ in 0..<200 { $0.frame(.settings) } },
        Case(name: "much empty data", code: .enhanceYourCalm) {
            $0.headers(1, HTTP2Speaker.fields("POST"), isLast: false)
            for _ in 0..<200 { $0.data(1, 0) }
        },
        Case(name: "many frames of unknown kinds", code: .enhanceYourCalm) {
            for _ in 0..<200 { $0.bytes += [0, 0, 0, 99, 0, 0, 0, 0, 0] }
        },
        Case(name: "streams that are begun and reset", code: .enhanceYourCalm) {
            for stream in 0..<200 as Range<UInt32> {
                $0.headers(stream * 2 + 1)
                $0.frame(.resetStream, stream: stream * 2 + 1, HTTP2Frame.big(8))
            }
        },
        Case(name: "resets that are provoked", code: .enhanceYourCalm) {
            for stream in 0..<200 as Range<UInt32> { $0.headers(stream * 2 + 1, [HPACKField(":method", "GET")]) }
        },
    ]

    @Test(arguments: ofConnections) func connectionErrorsEndTheConnection(example: Case) throws {
        var machine = HTTP2Machine(limits: HTTP2Limits(headerBlock: 50_000, idleFrames: 100, resets: 100))
        _ = machine.takeOutput()
        var client = HTTP2Speaker(begins: example.begins)
        example.says(&client)
        let events = machine.receive(client.take())
        guard case .failed(let failure)? = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(failure.code == example.code)
        #expect(!failure.reason.isEmpty)
        #expect(try machine.goAwayCode() == example.code)
        // After the failure the machine ignores its input.
        client.headers(101)
        #expect(machine.receive(client.take()).isEmpty)
        #expect(machine.output.isEmpty && machine.streams.isEmpty)
    }

    /// Fields that are not a valid request, so the stream is reset.
    static let badFields: [(String, [HPACKField])] = {
        let fields = HTTP2Speaker.fields
        return [
            ("no method", fields("GET", "/", []).filter { $0.name != Array(":method".utf8) }),
            ("no path", fields("GET", "/", []).filter { $0.name != Array(":path".utf8) }),
            ("no scheme", fields("GET", "/", []).filter { $0.name != Array(":scheme".utf8) }),
            ("an empty path", fields("GET", "", [])),
            ("two paths", fields("GET", "/", [(":path", "/")])),
            ("an unknown field with a colon", fields("GET", "/", [(":x", "/")])),
            ("a status", fields("GET", "/", [(":status", "200")])),
            ("a path behind other fields", Array(fields("GET", "/", [("x", "y")]).reversed())),
            ("an upper-case name", fields("GET", "/", [("X", "y")])),
            ("an empty name", fields("GET", "/", [("", "y")])),
            ("a name with a space", fields("GET", "/", [("a b", "y")])),
            ("a value with a line end", fields("GET", "/", [("x", "a\r\nb: c")])),
            ("a value with NUL", fields("GET", "/", [("x", "\0")])),
            ("a value that begins with a space", fields("GET", "/", [("x", " y")])),
            ("connection", fields("GET", "/", [("connection", "close")])),
            ("transfer-encoding", fields("GET", "/", [("transfer-encoding", "chunked")])),
            ("te", fields("GET", "/", [("te", "gzip")])),
            ("a length that is no number", fields("POST", "/", [("content-length", "+1")])),
            ("a length above all numbers", fields("POST", "/", [("content-length", "99999999999999999999")])),
            ("two lengths", fields("POST", "/", [("content-length", "1"), ("content-length", "2")])),
            ("a body that is missing", fields("POST", "/", [("content-length", "1")])),
            ("CONNECT with a path", fields("CONNECT", "/", [])),
        ]
    }()

    @Test(arguments: badFields) func invalidFieldsResetTheStream(name: String, fields: [HPACKField]) throws {
        var machine = HTTP2Machine()
        var client = HTTP2Speaker()
        client.headers(1, fields)
        client.headers(3)
        let events = machine.receive(client.take())
        #expect(events == [.request(stream: 3, try HTTP2RequestHead(HTTP2Speaker.fields()), isLast: true)])
        let reset = try machine.takeFrames().first { $0.kind == .resetStream }
        #expect(reset?.stream == 1 && reset?.code == .protocolError)
    }

    @Test(
        arguments: [
            (1, HTTP2ErrorCode.protocolError), (3, .protocolError), (4, nil), (5, .protocolError),
        ] as [(Int, HTTP2ErrorCode?)])
    func bodyMustMatchContentLength(count: Int, code: HTTP2ErrorCode?) throws {
        for endsWithTrailers in [false, true] {
            var machine = HTTP2Machine()
            var client = HTTP2Speaker()
            client.headers(1, HTTP2Speaker.fields("POST", "/", [("content-length", "4")]), isLast: false)
            client.data(1, count, isLast: !endsWithTrailers)
            if endsWithTrailers { client.headers(1, [HPACKField("x", "y")]) }
            _ = machine.receive(client.take())
            #expect(try machine.takeFrames().first { $0.kind == .resetStream }?.code == code)
        }
    }

    @Test func trailersMustEndTheirStream() throws {
        for (fields, isLast) in [([HPACKField("x", "y")], false), ([HPACKField(":path", "y")], true)] {
            var machine = HTTP2Machine()
            var client = HTTP2Speaker()
            client.headers(1, HTTP2Speaker.fields("POST"), isLast: false)
            client.headers(1, fields, isLast: isLast)
            #expect(machine.receive(client.take()).last == .reset(stream: 1))
        }
    }

    @Test func dataOnClosedStreamIsRefused() throws {
        var machine = HTTP2Machine()
        var client = HTTP2Speaker()
        client.headers(1)
        client.data(1, 1)
        #expect(machine.receive(client.take()).last == .reset(stream: 1))
        #expect(try machine.takeFrames().first { $0.kind == .resetStream }?.code == .streamClosed)
    }

    // MARK: Noise

    @Test func randomFramesNeverTrap() {
        var random = SplitMix(seed: 99)
        for _ in 0..<400 {
            var machine = HTTP2Machine(limits: HTTP2Limits(streams: 5))
            var client = HTTP2Speaker()
            for _ in 0..<40 {
                let count = Int.random(in: 0..<30, using: &random)
                let payload = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                client.bytes += [0, 0, UInt8(count), UInt8.random(in: 0...11, using: &random)]
                client.bytes += [
                    UInt8.random(in: 0...255, using: &random), 0, 0, 0, UInt8.random(in: 0...9, using: &random),
                ]
                client.bytes += payload
            }
            drive(&machine, client.take(), &random)
        }
    }

    /// Changes one byte of a valid conversation.
    @Test func changedByteNeverTraps() {
        var random = SplitMix(seed: 5)
        var client = HTTP2Speaker()
        client.headers(1, HTTP2Speaker.fields("POST", "/a", [("content-length", "20")]), isLast: false)
        client.data(1, 20, isLast: true)
        client.headers(3)
        client.window(0, 100)
        let good = client.take()
        for index in good.indices {
            for _ in 0..<8 {
                var bad = good
                bad[index] = UInt8.random(in: 0...255, using: &random)
                var machine = HTTP2Machine()
                drive(&machine, bad, &random)
            }
        }
    }

    /// Feeds bytes in random pieces, answers the requests, and checks the invariants of the machine.
    private func drive(_ machine: inout HTTP2Machine, _ bytes: [UInt8], _ random: inout SplitMix) {
        var rest = bytes[...]
        var hasFailed = false
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...50, using: &random))
            rest = rest.dropFirst(piece.count)
            for event in machine.receive(piece) {
                #expect(!hasFailed, "an event behind the end")
                switch event {
                case .request(let stream, _, _):
                    machine.sendFields(stream, [HPACKField(":status", "200")], isLast: Bool.random(using: &random))
                case .data(let stream, let data): machine.consumed(stream, data.count)
                case .end(let stream, _):
                    _ = machine.sendData(stream, data[...])
                    machine.sendEnd(stream)
                case .reset: break
                case .failed: hasFailed = true
                }
            }
            #expect(machine.streams.count <= machine.limits.streams)
            #expect(machine.resetByUs.count <= 256)
        }
        #expect(throws: Never.self) { try HTTP2Speaker.frames(machine.takeOutput()) }
    }

    private let data = [UInt8](repeating: 1, count: 1_000)
}
