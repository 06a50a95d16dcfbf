internal import CurlewCore
internal import CurlewLocks
internal import CurlewTesting
internal import Foundation
internal import Testing

@testable import Curlew

/// Faults of a server or a network. A WebSocket that they end has an error that names the fault, ends within bounded
/// time and memory, and leaves no connection.
@Suite("WebSocket faults", .timeLimit(.minutes(4)))
struct WebSocketFaultTests {
    typealias Script = TestServer.WebSocketScript

    private static func socket(
        _ steps: [Script.Step], _ configure: (inout WebSocketOptions) -> Void = { _ in }
    ) throws -> (WebSocketRequest, TestServer) {
        let server = try TestServer()
        server.webSocket("/socket", Script(steps))
        return (Session().webSocket(server.url("/socket"), configure: configure), server)
    }

    /// The time that every closing must stay below.
    private static let closingBound = Duration.seconds(2).asTestBound

    /// Expects that one of at most three closings ends in time. A busy machine may delay one; a closing that waits for
    /// the server is late every time.
    private static func expectQuickEnd(
        sourceLocation: SourceLocation = #_sourceLocation, _ measure: () async throws -> Duration
    ) async throws {
        var times: [Duration] = []
        for _ in 0..<3 where times.allSatisfy({ $0 >= closingBound }) { times.append(try await measure()) }
        #expect(times.contains { $0 < closingBound }, "\(times)", sourceLocation: sourceLocation)
    }

    private static func elapsed(_ close: () async throws -> Void) async rethrows -> Duration {
        try await ContinuousClock().measure { try await close() }
    }

    // MARK: The server disappears

    @Test("the heartbeat notices a server that has vanished, even for a task that only sends")
    func vanishes() async throws {
        let (socket, server) = try Self.socket([.receive(1), .silence]) {
            $0.pingInterval = .milliseconds(20)
            $0.pongTimeout = .milliseconds(200)
            $0.sendBuffer = 10_000
            $0.compression = .off
        }
        // Sends until the connection is full, and then until the heartbeat shows that the server is gone.
        let error = await #expect(throws: CurlewError.self) {
            while true { try await socket.send(Data(repeating: 1, count: 100_000)) }
        }
        #expect(error?.code == .idleTimedOut)
        #expect(await socket.readToEnd().error?.code == .idleTimedOut)
        // The server does not see the end, because it reads nothing.
        try await eventually { socket.isFinished }
        withExtendedLifetime(server) {}
    }

    @Test("a server that closes only its own direction ends the WebSocket", arguments: [false, true])
    func halfCloses(isInMessage: Bool) async throws {
        let begun: [Script.Step] = isInMessage ? [.raw(Data([0x81, 10, 0x61]))] : []
        let (socket, server) = try Self.socket([.send(.text("last"))] + begun + [.halfClose])
        let (seen, error) = await socket.readToEnd()
        #expect(seen == [.text("last")])
        #expect(error?.code == .webSocketClosed)
        #expect(error?.closeCode == .abnormalClosure)
        // The other direction is closed too; the server waits for that.
        try await eventually { server.openConnectionCount == 0 }
    }

    @Test(
        "a connection that breaks within a frame delivers the messages before it, then the error",
        arguments: [[0x81, 10, 0x61], [0x01, 1, 0x61], [0x82], [0x82, 0x7F, 0], [0x88, 2, 0x03]] as [[UInt8]],
        [Script.Step.reset, .cut])
    func breaksInside(begun: [UInt8], end: Script.Step) async throws {
        let (socket, server) = try Self.socket([.send(.text("whole")), .raw(Data(begun)), end])
        let (seen, error) = await socket.readToEnd()
        // A reset may discard bytes in transit, including the response to the handshake.
        #expect(seen == [.text("whole")] || seen.isEmpty)
        if case .reset = end {
            #expect(error?.code == .receiveFailed)
        } else {
            #expect(error?.code == .webSocketClosed && error?.closeCode == .abnormalClosure)
        }
        var mayLackHandshake = false
        if case .reset = end { mayLackHandshake = seen.isEmpty }
        #expect(socket.closeCode == .abnormalClosure || mayLackHandshake)
        withExtendedLifetime(server) {}
    }

    @Test("a reset while large messages are sent ends the sender with an error")
    func resetWhileSending() async throws {
        let (socket, server) = try Self.socket([.pause(.milliseconds(20)), .reset]) {
            $0.sendBuffer = 10_000
            $0.compression = .off
        }
        let error = await #expect(throws: CurlewError.self) {
            while true { try await socket.send(Data(repeating: 1, count: 1_000_000)) }
        }
        #expect([.sendFailed, .receiveFailed].contains(error?.code))
        let ping = await #expect(throws: CurlewError.self) { try await socket.ping() }
        #expect(ping != nil)
        try await socket.close()
        withExtendedLifetime(server) {}
    }

    // MARK: The server misbehaves

    @Test(
        "a frame with an invalid or too large length is refused by its head",
        arguments: [
            // 2^63, and the largest 64-bit number.
            ([0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], .protocolViolation),
            ([0x82, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .protocolViolation),
            // 2^63 - 1, and one byte above the limit.
            ([0x82, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .limitExceeded),
            ([0x82, 0x7F, 0, 0, 0, 0, 1, 0, 0, 1], .limitExceeded),
            // A short length in a long form.
            ([0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0, 1], .protocolViolation), ([0x82, 0x7E, 0, 1], .protocolViolation),
            // A control frame of 126 bytes.
            ([0x89, 0x7E, 0, 126], .protocolViolation),
        ] as [([UInt8], CurlewError.Code)])
    func lengths(head: [UInt8], code: CurlewError.Code) async throws {
        let (socket, server) = try Self.socket([.raw(Data(head))])
        let (seen, error) = await socket.readToEnd()
        #expect(seen.isEmpty)
        #expect(error?.code == code)
        try await eventually { server.openConnectionCount == 0 }
    }

    @Test("a flood of pings is answered, and messages are exchanged after it")
    func floodOfPings() async throws {
        let count = 50_000
        // The payloads have 0 to 99 bytes.
        let flood = Data((0..<count).flatMap { [0x89, UInt8($0 % 100)] + [UInt8](repeating: 7, count: $0 % 100) })
        let (socket, server) = try Self.socket([.raw(flood), .send(.text("after")), .echo])
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("after"))
        try await socket.send("still here")
        #expect(try await messages.next() == .text("still here"))
        // All pongs together have 2.8 MB. Some may be dropped while 1 MiB waits for the server, but that MiB is sent
        // before the message.
        #expect(server.bytesReceived > 1_000_000)
        try await socket.close()
        #expect(socket.closeCode == .normalClosure)
        withExtendedLifetime(server) {}
    }

    @Test(
        "a flood of pings from a server that reads nothing uses bounded memory and does not delay closing"
    )
    func floodOfPingsUnread() async throws {
        let one = [0x89, 125] + [UInt8](repeating: 7, count: 125)
        let flood = Data(repeatElement(one, count: 40_000).joined())
        try await Self.expectQuickEnd {
            let (socket, server) = try Self.socket([.raw(flood), .silence]) { $0.closeTimeout = .milliseconds(100) }
            try await socket.opened()
            // The client reads everything, although its answers cannot be sent.
            try await eventually { server.bytesSent > Int64(flood.count) }
            let outbox = try #require(socket.link.state.withLock { $0.outbox })
            #expect(outbox.bytesWaiting <= 3 * 1024 * 1024)
            let took = try await Self.elapsed { try await socket.close() }
            #expect(socket.closeCode == .abnormalClosure)
            try await eventually { socket.isFinished }
            withExtendedLifetime(server) {}
            return took
        }
    }

    @Test("a flood of empty messages or empty fragments is delivered without an error")
    func floodOfNothing() async throws {
        let messages = Data(repeatElement([0x81, 0x00], count: 100_000).joined())
        let (socket, server) = try Self.socket([.raw(messages), .close(.normalClosure)]) {
            $0.maximumMessageSize = 10_000
        }
        var count = 0
        for try await message in socket.messages where message == .text("") { count += 1 }
        #expect(count == 100_000)
        let fragments =
            Data([0x01, 0x00]) + Data(repeatElement([0x00, 0x00], count: 100_000).joined()) + [0x80, 0x01, 0x61]
        let (second, other) = try Self.socket([.raw(fragments), .close(.normalClosure)])
        let (seen, error) = await second.readToEnd()
        #expect(seen == [.text("a")] && error == nil)
        withExtendedLifetime((server, other)) {}
    }

    // MARK: Closing

    @Test(
        "close() returns in time, whatever the server does instead of answering",
        arguments: [
            [.silence], [.raw(Data([0x81, 100, 0x61])), .silence],
            [.pause(.milliseconds(10)), .cut], [.pause(.milliseconds(10)), .reset], [.halfClose],
        ] as [[Script.Step]])
    func closesInTime(steps: [Script.Step]) async throws {
        try await Self.expectQuickEnd {
            let (socket, server) = try Self.socket(steps) { $0.closeTimeout = .milliseconds(100) }
            try await socket.opened()
            let took = try await Self.elapsed { try await socket.close(code: .goingAway, reason: "enough") }
            #expect(socket.closeCode == .abnormalClosure)
            try await eventually { server.openConnectionCount == 0 }
            return took
        }
    }

    @Test("close() returns in time while messages wait to be sent")
    func closesBehindMessages() async throws {
        try await Self.expectQuickEnd {
            let (socket, server) = try Self.socket([.silence]) {
                $0.closeTimeout = .milliseconds(100)
                $0.compression = .off
            }
            try await socket.opened()
            // More than the kernel's buffers hold. Masking the message takes time.
            try await socket.send(Data(repeating: 1, count: 12_000_000))
            let took = try await Self.elapsed { try await socket.close() }
            #expect(socket.closeCode == .abnormalClosure)
            try await eventually { socket.isFinished }
            withExtendedLifetime(server) {}
            return took
        }
    }

    // MARK: Opening

    @Test(
        "a WebSocket closed or cancelled before the handshake is answered leaves no connection", arguments: [0, 1, 2])
    func cancelledWhileOpening(kind: Int) async throws {
        let server = try TestServer()
        let socket = Session().webSocket(server.url("/hang"))
        let waiting = Task { try await socket.opened() }
        if kind > 0 { _ = try await server.waitForRequests(count: 1) }
        if kind == 2 { socket.cancel() } else { try await socket.close() }
        let error = await #expect(throws: CurlewError.self) { try await waiting.value }
        #expect(error?.code == .cancelled)
        try await eventually { server.openConnectionCount == 0 && socket.isCancelled }
    }
}
