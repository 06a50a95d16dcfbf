import CurlewCore
import Testing

@testable import CurlewTesting

@Suite("HTTP/2: machine") struct HTTP2MachineTests {
    private typealias Speaker = HTTP2Speaker

    /// The bytes of a client that uses padding, a priority, a header block in several frames, and trailers.
    private static func conversation() -> [UInt8] {
        var client = Speaker()
        client.frame(.settings, [], HTTP2Settings.payload([(.initialWindow, 100_000), (.enablePush, 0)]))
        client.frame(.settings, .acknowledges)
        let upload = client.block(Speaker.fields("POST", "/up", [("content-length", "7"), ("x-long", "value")]))
        let priority: [UInt8] = [0, 0, 0, 0, 15]
        client.frame(
            .headers, [.padded, .priority], stream: 1,
            [3] + priority + upload.prefix(4) + [UInt8](repeating: 0, count: 3))
        client.frame(.continuation, [], stream: 1, Array(upload.dropFirst(4).prefix(5)))
        client.frame(.continuation, .endHeaders, stream: 1, Array(upload.dropFirst(9)))
        client.frame(.ping, [], Array(0..<8))
        client.frame(.data, .padded, stream: 1, [2] + Array("abcd".utf8) + [0, 0])
        client.headers(3)
        client.frame(.data, [], stream: 1, Array("efg".utf8))
        client.headers(1, [HPACKField("x-sum", "1")])
        client.frame(.priority, [], stream: 9, priority)
        client.frame(.resetStream, [], stream: 3, HTTP2Frame.big(8))
        client.window(0, 5)
        client.frame(.goAway, [], [UInt8](repeating: 0, count: 8))
        return client.take()
    }

    private static func expected() throws -> [HTTP2Machine.Event] {
        let more = [("content-length", "7"), ("x-long", "value")]
        return [
            .request(stream: 1, try HTTP2RequestHead(Speaker.fields("POST", "/up", more)), isLast: false),
            .data(stream: 1, Array("abcd".utf8)),
            .request(stream: 3, try HTTP2RequestHead(Speaker.fields()), isLast: true),
            .data(stream: 1, Array("efg".utf8)),
            .end(stream: 1, trailers: ["x-sum": "1"]),
            .reset(stream: 3),
        ]
    }

    @Test func clientFramesBecomeEvents() throws {
        var machine = HTTP2Machine()
        let first = try Speaker.frames(machine.takeOutput())
        #expect(first.map(\.kind) == [.settings])
        #expect(machine.receive(Self.conversation()) == (try Self.expected()))
        let said = try Speaker.frames(machine.takeOutput())
        #expect(said.map(\.kind) == [.settings, .settings, .ping])
        #expect(said.allSatisfy { $0.flags == .acknowledges })
        #expect(said.last?.payload == Array(0..<8))
    }

    /// Cuts the bytes in two at every offset, and feeds them byte by byte.
    @Test func framesMayArriveInAnyPieces() throws {
        let bytes = Self.conversation()
        let expected = try Self.expected()
        for cut in 0...bytes.count {
            var machine = HTTP2Machine()
            let events = machine.receive(bytes[..<cut]) + machine.receive(bytes[cut...])
            #expect(events == expected, "cut at \(cut)")
        }
        var machine = HTTP2Machine()
        #expect(bytes.flatMap { machine.receive([$0]) } == expected)
    }

    // MARK: Flow control

    @Test func sentDataStaysWithinTheWindows() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.frame(.settings, [], HTTP2Settings.payload([(.initialWindow, 20_000)]))
        client.headers(1)
        client.headers(3)
        _ = machine.receive(client.take())
        for stream in [1, 3] as [UInt32] {
            machine.sendFields(stream, [HPACKField(":status", "200")], isLast: false)
        }
        let body = [UInt8](repeating: 1, count: 100_000)
        #expect(machine.sendData(1, body[...]) == 16_384, "a frame at most")
        #expect(machine.sendData(1, body[...]) == 20_000 - 16_384)
        #expect(machine.sendData(1, body[...]) == 0)
        // The smaller initial window makes the stream's window negative. It must grow above zero before more is sent.
        client.frame(.settings, [], HTTP2Settings.payload([(.initialWindow, 19_000)]))
        client.window(1, 1_000)
        _ = machine.receive(client.take())
        #expect(machine.sendData(1, body[...]) == 0)
        client.window(1, 5)
        _ = machine.receive(client.take())
        #expect(machine.sendData(1, body[...]) == 5)
        // Both streams share the connection's window of 65,535 bytes.
        client.window(3, 1_000_000)
        _ = machine.receive(client.take())
        var sent = 0
        while case let count = machine.sendData(3, body[...]), count > 0 { sent += count }
        #expect(sent == 65_535 - 20_005)
        client.window(0, 10)
        client.frame(.settings, [], HTTP2Settings.payload([(.maximumPayload, 50_000)]))
        _ = machine.receive(client.take())
        #expect(machine.sendData(3, body[...]) == 10)
        client.window(0, 40_000)
        _ = machine.receive(client.take())
        #expect(machine.sendData(3, body[...]) == 40_000)
    }

    @Test func consumedBytesEnlargeTheWindow() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1, Speaker.fields("POST"), isLast: false)
        for _ in 0..<4 { client.data(1, 16_000) }
        _ = machine.takeOutput()
        _ = machine.receive(client.take())
        // The connection's window is restored on receipt, that of the stream when its bytes are consumed.
        let connection = try machine.takeFrames()
        #expect(connection.map(\.kind) == [.windowUpdate] && connection.allSatisfy { $0.stream == 0 })
        machine.consumed(1, 32_766)
        #expect(try machine.takeFrames().isEmpty)
        machine.consumed(1, 1)
        let stream = try machine.takeFrames()
        #expect(stream.map(\.stream) == [1])
        #expect(stream.first?.number() == 32_767)
        client.data(1, 16_000)
        #expect(machine.receive(client.take()).count == 1)
    }

    @Test func dataBeyondStreamWindowResetsTheStream() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1, Speaker.fields("POST"), isLast: false)
        for _ in 0..<5 { client.data(1, 16_000) }
        #expect(machine.receive(client.take()).last == .reset(stream: 1))
        let reset = try machine.takeFrames().first { $0.kind == .resetStream }
        #expect(reset?.code == .flowControlError)
        // Frames that were under way at the reset are no error, and other streams continue.
        client.data(1, 100, isLast: true)
        client.headers(3)
        #expect(machine.receive(client.take()).count == 1)
        #expect(try machine.goAwayCode() == nil)
    }

    @Test func paddingCountsForTheWindow() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1, Speaker.fields("POST"), isLast: false)
        for _ in 0..<2_000 { client.frame(.data, .padded, stream: 1, [200] + [UInt8](repeating: 0, count: 201)) }
        // The padding exceeds the window. The machine gives its bytes back at once, because a reader never sees them.
        let events = machine.receive(client.take())
        #expect(events.count == 2_001)
        #expect(try machine.takeFrames().contains { $0.kind == .windowUpdate && $0.stream == 1 })
    }

    // MARK: Responses

    @Test func longHeadIsSentInSeveralFrames() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1)
        _ = machine.receive(client.take())
        _ = machine.takeOutput()
        let field = HPACKField("x", String(repeating: "y", count: 40_000))
        machine.sendFields(1, [HPACKField(":status", "200"), field], isLast: true)
        let frames = try machine.takeFrames()
        #expect(frames.map(\.kind) == [.headers, .continuation, .continuation])
        #expect(frames.map(\.flags) == [.endStream, [], .endHeaders])
        #expect(frames.allSatisfy { $0.payload.count <= 16_384 })
        var whole = try #require(frames.first)
        whole.payload = frames.flatMap(\.payload)
        #expect(try client.fields(of: whole).last == field)
        #expect(machine.streams.isEmpty)
    }

    @Test func earlyResponseResetsTheRestOfTheRequest() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1, Speaker.fields("POST"), isLast: false)
        _ = machine.receive(client.take())
        _ = machine.takeOutput()
        machine.sendFields(1, [HPACKField(":status", "413")], isLast: true)
        let frames = try machine.takeFrames()
        #expect(frames.map(\.kind) == [.headers, .resetStream])
        #expect(frames.last?.code == .noError)
        client.data(1, 10)
        client.data(1, 10, isLast: true)
        #expect(machine.receive(client.take()).isEmpty)
        #expect(try machine.takeFrames().isEmpty)
    }

    @Test func framesOnResetStreamAreDropped() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1)
        client.frame(.resetStream, stream: 1, HTTP2Frame.big(8))
        _ = machine.receive(client.take())
        _ = machine.takeOutput()
        machine.sendFields(1, [HPACKField(":status", "200")], isLast: false)
        #expect(machine.sendData(1, [1, 2]) == 0)
        machine.sendEnd(1)
        machine.consumed(1, 100_000)
        #expect(machine.output.isEmpty)
    }

    @Test func streamsBeyondTheLimitAreRefused() throws {
        var machine = HTTP2Machine(limits: HTTP2Limits(streams: 2))
        var client = Speaker()
        for stream in [1, 3, 5] as [UInt32] { client.headers(stream) }
        #expect(machine.receive(client.take()).count == 2)
        let reset = try machine.takeFrames().first { $0.kind == .resetStream }
        #expect(reset?.stream == 5 && reset?.code == .refusedStream)
        machine.sendFields(1, [HPACKField(":status", "200")], isLast: true)
        client.headers(7)
        #expect(machine.receive(client.take()).count == 1)
    }

    @Test func headAboveTheLimitIsAnsweredWith400() throws {
        var machine = HTTP2Machine(limits: HTTP2Limits(headerList: 1_000))
        var client = Speaker()
        client.headers(1, Speaker.fields("GET", "/", [("x", String(repeating: "y", count: 1_000))]))
        client.headers(3)
        #expect(machine.receive(client.take()).count == 1)
        let head = try #require(try machine.takeFrames().first { $0.stream == 1 })
        #expect(try client.fields(of: head) == [HPACKField(":status", "400")])
    }

    @Test("frames of a stream that began after GOAWAY are ignored")
    func lateFramesAfterGoingAway() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1, Speaker.fields("POST"), isLast: false)
        _ = machine.receive(client.take())
        machine.goAway()
        client.headers(3, Speaker.fields("POST"), isLast: false)
        client.data(3, 4)
        client.window(3, 10)
        client.frame(.resetStream, stream: 3, [0, 0, 0, 8])
        client.data(1, 4, isLast: true)
        #expect(machine.receive(client.take()) == [.data(stream: 1, [7, 7, 7, 7]), .end(stream: 1, trailers: [:])])
        client.data(5, 4)
        let failed = machine.receive(client.take())
        #expect(failed.contains { if case .failed = $0 { true } else { false } })
    }

    @Test func noStreamBeginsAfterGoAway() throws {
        var machine = HTTP2Machine()
        var client = Speaker()
        client.headers(1, Speaker.fields("POST"), isLast: false)
        _ = machine.receive(client.take())
        _ = machine.takeOutput()
        machine.goAway()
        let away = try #require(try machine.takeFrames().first)
        #expect(away.number() == 1 && away.code == .noError)
        client.headers(3)
        client.data(1, 4, isLast: true)
        #expect(machine.receive(client.take()) == [.data(stream: 1, [7, 7, 7, 7]), .end(stream: 1, trailers: [:])])
        machine.sendFields(1, [HPACKField(":status", "200")], isLast: true)
        #expect(try machine.takeFrames().map(\.kind) == [.headers])
    }
}
