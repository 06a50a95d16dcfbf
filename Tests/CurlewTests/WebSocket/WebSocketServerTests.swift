internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("WebSocket over a server", .timeLimit(.minutes(4)))
struct WebSocketServerTests {
    typealias Script = TestServer.WebSocketScript

    private static func socket(
        _ script: Script, _ configure: (inout WebSocketOptions) -> Void = { _ in }
    ) throws -> (WebSocketRequest, TestServer) {
        let server = try TestServer()
        server.webSocket("/socket", script)
        return (Session().webSocket(server.url("/socket"), configure: configure), server)
    }

    @Test("messages of any size are echoed", arguments: [false, true])
    func echo(compresses: Bool) async throws {
        let (socket, server) = try Self.socket(Script.echo.changed { $0.compresses = compresses })
        let messages: [WebSocketMessage] = [
            .text(""), .text("a"), .data(Data(repeating: 7, count: 125)), .data(Data(repeating: 8, count: 126)),
            .text(String(repeating: "ä", count: 40_000)), .data(TestServer.patternBytes(count: 3_000_000)),
            .text("end"),
        ]
        async let sending: Void = {
            for message in messages { try await socket.send(message) }
        }()
        var seen: [WebSocketMessage] = []
        for try await message in socket.messages {
            seen.append(message)
            if seen.count == messages.count { break }
        }
        try await sending
        #expect(seen == messages)
        try await eventually { socket.isFinished }
        #expect(socket.closeCode == .normalClosure)
        withExtendedLifetime(server) {}
    }

    @Test("fragments, pings and a close with a reason are received as they were sent")
    func fragments() async throws {
        let (socket, server) = try Self.socket(
            Script([
                .fragments([Data("ä€".utf8.prefix(3)), Data(), Data("ä€".utf8.dropFirst(3))], isText: true),
                .ping(Data([1])), .send(.data(Data([2]))), .close(.init(rawValue: 4001), reason: "enough"),
            ]))
        let (seen, error) = await socket.readToEnd()
        #expect(seen == [.text("ä€"), .data(Data([2]))])
        #expect(error?.code == .webSocketClosed)
        #expect(error?.closeCode?.rawValue == 4001 && error?.closeReason == "enough")
        withExtendedLifetime(server) {}
    }

    @Test(
        "faults of the server end the messages with their errors",
        arguments: [
            ([.raw(Data([0x81, 0x81, 1, 2, 3, 4, 5]))], .protocolViolation),
            ([.raw(Data([0x81, 1, 0xC0]))], .protocolViolation),
            ([.raw(Data([0x82, 0x7F, 0x7F, 0, 0, 0, 0, 0, 0, 0]))], .limitExceeded),
            ([.cut], .webSocketClosed), ([.raw(Data([0x82, 10, 1, 2])), .cut], .webSocketClosed),
            ([.reset], .receiveFailed), ([.silence], .idleTimedOut),
        ] as [([Script.Step], CurlewError.Code)])
    func faults(steps: [Script.Step], code: CurlewError.Code) async throws {
        let (socket, server) = try Self.socket(Script(steps)) {
            $0.closeTimeout = .milliseconds(200)
            // Pings only in this case: a busy machine must not be mistaken for a silent server.
            guard code == .idleTimedOut else { return }
            $0.pingInterval = .milliseconds(20)
            $0.pongTimeout = .milliseconds(200)
        }
        let (seen, error) = await socket.readToEnd()
        #expect(seen.isEmpty)
        #expect(error?.code == code)
        withExtendedLifetime(server) {}
    }

    @Test("a handshake follows a redirect, and a refused one reports the response")
    func handshakes() async throws {
        let server = try TestServer()
        server.webSocket("/socket", .echo)
        server.route("/moved") { _ in .redirect(to: "/socket", status: 307) }
        server.route("/forbidden") { _ in .text("not you", status: 403) }
        server.webSocket("/wrong", Script.echo.changed { $0.changesAnswer = { $0["Sec-WebSocket-Accept"] = "x" } })
        let session = Session()
        let socket = session.webSocket(server.url("/moved"))
        let roundTrip = try await socket.ping()
        #expect(roundTrip > .zero)
        try await socket.close(code: .goingAway)
        #expect(socket.closeCode == .goingAway)
        let refused = await #expect(throws: CurlewError.self) {
            try await session.webSocket(server.url("/forbidden")).opened()
        }
        #expect(refused?.code == .webSocketRefused && refused?.responseCode == 403)
        #expect(refused?.responseBody == Data("not you".utf8))
        let wrong = await #expect(throws: CurlewError.self) {
            try await session.webSocket(server.url("/wrong")).opened()
        }
        #expect(wrong?.code == .webSocketRefused && wrong?.responseCode == 101)
    }

    @Test("a hundred sockets at once close cleanly")
    func many() async throws {
        let server = try TestServer()
        server.webSocket("/socket", .echo)
        let session = Session()
        try await withThrowingTaskGroup { group in
            for index in 0..<100 {
                group.addTask {
                    let socket = session.webSocket(server.url("/socket"))
                    try await socket.send("\(index)")
                    var messages = socket.messages.makeAsyncIterator()
                    #expect(try await messages.next() == .text("\(index)"))
                    try await socket.close()
                }
            }
            try await group.waitForAll()
        }
        await session.invalidate()
        #expect(await session.activeRequests.isEmpty)
    }

    // MARK: Back-pressure over sockets

    /// Returns the number of sent messages once it has stopped growing.
    private static func untilStill(_ sent: Watched<Int>) async throws -> Int {
        var before = -1
        while before != sent.value {
            before = sent.value
            try await Task.sleep(for: .milliseconds(200))
        }
        return before
    }

    private static let piece = 65_536
    private static let bound = 200_000

    private static func sender(_ socket: WebSocketRequest, _ count: Int, _ sent: Watched<Int>) -> Task<Void, any Error>
    {
        Task {
            for index in 0..<count {
                try await socket.send(Data(repeating: UInt8(index & 0xFF), count: piece))
                sent.change { $0 += 1 }
                // At most one message and its head above the bound.
                let waiting = socket.link.state.withLock { $0.outbox }?.bytesWaiting ?? 0
                #expect(waiting <= bound + piece + 14)
            }
        }
    }

    @Test("a server that reads nothing stops the sender and receives every message later")
    func slowServer() async throws {
        let gate = Gate()
        let count = 1000
        let (socket, server) = try Self.socket(
            Script([.wait(gate), .receive(count), .close(.normalClosure)])
        ) { ($0.sendBuffer, $0.compression) = (Self.bound, .off) }
        try await socket.opened()
        let sent = Watched(0)
        let sender = Self.sender(socket, count, sent)
        #expect(try await Self.untilStill(sent) < count)
        gate.open()
        try await sender.value
        for try await _ in socket.messages {}
        #expect(socket.closeCode == .normalClosure)
        withExtendedLifetime(server) {}
    }

    @Test(
        "a reader that pauses stops the server and the sender, and receives every message later"
    )
    func slowReader() async throws {
        let count = 1000
        let taken = Watched(0)
        let (socket, server) = try Self.socket(
            Script.echo.changed { $0.onMessage = { _ in taken.change { $0 += 1 } } }
        ) { ($0.maximumMessageSize, $0.sendBuffer, $0.compression) = (Self.bound, Self.bound, .off) }
        try await socket.opened()
        let sent = Watched(0)
        let sender = Self.sender(socket, count, sent)
        #expect(try await Self.untilStill(sent) < count)
        #expect(taken.value < count)
        var received = 0
        for try await message in socket.messages {
            #expect(message == .data(Data(repeating: UInt8(received & 0xFF), count: Self.piece)))
            received += 1
            if received == count { break }
        }
        try await sender.value
        #expect(taken.value == count)
        withExtendedLifetime(server) {}
    }
}
