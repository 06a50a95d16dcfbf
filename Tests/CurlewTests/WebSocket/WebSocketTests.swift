internal import CurlewCore
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("WebSocket", .timeLimit(.minutes(4)))
struct WebSocketTests {
    private static let url = "ws://example.org/chat?x=y"

    private static func socket(
        protocols: [String] = [], _ configure: (inout WebSocketOptions) -> Void = { _ in },
        _ script: @escaping ScriptedTransport.Script
    ) -> (WebSocketRequest, ScriptedTransport) {
        let transport = ScriptedTransport(script)
        let session = Session(transport: transport)
        return (session.webSocket(url, protocols: protocols, configure: configure), transport)
    }

    // MARK: Messages

    @Test("messages go both ways, in order", arguments: [false, true])
    func echo(compresses: Bool) async throws {
        let (socket, transport) = Self.socket {
            await $0.accept(compresses: compresses)
            await $0.echo()
        }
        let long = String(repeating: "äb", count: 100_000)
        try await socket.send("one")
        try await socket.send(Data([1, 2, 3]))
        try await socket.send(json: ["a": 1])
        try await socket.send(.text(long))
        var seen: [WebSocketMessage] = []
        for try await message in socket.messages {
            seen.append(message)
            if seen.count == 4 { break }
        }
        #expect(seen == [.text("one"), .data(Data([1, 2, 3])), .text("{\"a\":1}"), .text(long)])
        await transport.scriptsEnded()
        try await eventually { socket.isFinished }
        #expect(socket.closeCode == .normalClosure)
    }

    @Test("the handshake uses the URL with http's scheme and selects a subprotocol")
    func handshake() async throws {
        let (socket, transport) = Self.socket(protocols: ["a", "b"]) {
            await $0.accept(protocols: ["b"], extra: [0x81, 2, 0x68, 0x69])
            #expect($0.request.line == "GET /chat?x=y HTTP/1.1")
            #expect($0.request.headers["Host"] == "example.org")
            #expect($0.request.headers["User-Agent"] != nil)
            await $0.echo()
        }
        #expect(socket.selectedProtocol == nil)
        let head = try await socket.opened()
        #expect(head.status == 101)
        #expect(socket.selectedProtocol == "b")
        // Bytes that follow the response's head are already part of a message.
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("hi"))
        try await socket.close()
        #expect(transport.urls.map(\.absoluteString) == ["http://example.org/chat?x=y"])
    }

    // MARK: The peer closes

    @Test(
        "messages end without an error on ordinary close codes, and with one on others",
        arguments: [(nil, nil), (1000, nil), (1001, nil), (1011, "broken"), (4000, "bye"), (1012, nil)]
            as [(UInt16?, String?)])
    func peerCloses(code: UInt16?, reason: String?) async throws {
        let (socket, _) = Self.socket {
            await $0.accept()
            await $0.send("last")
            if let code { await $0.close(code, reason ?? "") } else { await $0.send(.close) }
            #expect(await $0.next() == .close(code.map(WebSocketCloseCode.init), reason: ""))
        }
        var seen: [WebSocketMessage] = []
        var failure: CurlewError?
        do throws(CurlewError) {
            for try await message in socket.messages { seen.append(message) }
        } catch {
            failure = error
        }
        #expect(seen == [.text("last")])
        #expect(socket.closeCode?.rawValue == code ?? 1005)
        #expect(socket.closeReason == reason)
        guard let code, code > 1001 else {
            #expect(failure == nil)
            return
        }
        #expect(failure?.code == .webSocketClosed)
        #expect(failure?.closeCode?.rawValue == code)
        #expect(failure?.closeReason == reason)
    }

    @Test("a connection that ends without a close frame is an error with code 1006")
    func cut() async throws {
        let (socket, _) = Self.socket {
            await $0.accept()
            $0.wire.close()
        }
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .webSocketClosed)
        #expect(error?.closeCode == .abnormalClosure)
    }

    @Test(
        "a peer that breaks the protocol receives a close code, and the reader gets the error",
        arguments: [
            ([0x81, 0x80, 0, 0, 0, 0], .protocolViolation, 1002), ([0x81, 1, 0xFF], .protocolViolation, 1007),
            ([0x82, 0x7F, 0, 0, 0, 0, 2, 0, 0, 0], .limitExceeded, 1009), ([0x88, 1, 0], .protocolViolation, 1002),
        ] as [([UInt8], CurlewError.Code, UInt16)])
    func violations(bytes: [UInt8], code: CurlewError.Code, closeCode: UInt16) async throws {
        let (socket, transport) = Self.socket {
            await $0.accept()
            await $0.raw(bytes)
            guard case .close(let told, _)? = await $0.next() else {
                Issue.record("the peer was not told")
                return
            }
            #expect(told?.rawValue == closeCode)
        }
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == code)
        await transport.scriptsEnded()
    }

    // MARK: The handshake

    @Test(
        "credentials that need no challenge are sent with the handshake",
        arguments: [
            (.basic, "Basic dXNlcjpwYXNz"), (.bearer, "Bearer pass"),
        ] as [(TransferAuthentication.Scheme, String)])
    func credentials(scheme: TransferAuthentication.Scheme, field: String) async throws {
        let (socket, transport) = Self.socket {
            await $0.accept()
            #expect($0.request.headers["User-Agent"] != nil)
            #expect($0.request.headers["Authorization"] == field)
            #expect($0.request.headers["Accept-Encoding"] == nil)
            await $0.echo()
        }
        socket.authenticate(with: TransferAuthentication(scheme: scheme, username: "user", password: "pass"))
        try await socket.opened()
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test(
        "credentials that need a challenge are refused before anything is sent",
        arguments: [.digest, .any, .ntlm] as [TransferAuthentication.Scheme])
    func credentialsThatCannotGo(scheme: TransferAuthentication.Scheme) async throws {
        let (socket, transport) = Self.socket { await $0.accept() }
        socket.authenticate(with: TransferAuthentication(scheme: scheme, username: "user", password: "pass"))
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .unsupported)
        #expect(transport.wires.isEmpty)
    }

    @Test("a handshake whose response stalls ends with the idle timeout")
    func stalledAnswer() async throws {
        let (socket, transport) = Self.socket {
            await $0.answer("HTTP/1.1 4")
            _ = await $0.next()
        }
        socket.timeouts { $0.idle = .milliseconds(50) }
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .idleTimedOut)
        await transport.scriptsEnded()
    }

    // MARK: This side closes

    @Test("closing sends the code and the reason, and returns when the peer has answered")
    func closes() async throws {
        let (socket, transport) = Self.socket {
            await $0.accept()
            #expect(await $0.next() == .close(.goingAway, reason: "done"))
            await $0.close(1001)
        }
        try await socket.opened()
        try await socket.close(code: .goingAway, reason: "done")
        #expect(socket.closeCode == .goingAway)
        #expect(transport.wires[0].incoming.isClosed)
        let error = await #expect(throws: CurlewError.self) { try await socket.send("late") }
        #expect(error?.code == .webSocketClosed)
        for try await _ in socket.messages { Issue.record("a message") }
        try await socket.close()
    }

    @Test("close() waits for the peer's close frame only until closeTimeout")
    func unansweredClose() async throws {
        let (socket, _) = Self.socket({ $0.closeTimeout = .milliseconds(50) }) {
            await $0.accept()
            while await $0.next() != nil {}
        }
        try await socket.opened()
        try await socket.close()
        #expect(socket.closeCode == .abnormalClosure)
    }

    @Test("cancelling the task that reads closes the WebSocket")
    func cancelledReader() async throws {
        let gate = Gate()
        let (socket, transport) = Self.socket {
            await $0.accept()
            #expect(await $0.next() == .close(.normalClosure, reason: ""))
            await $0.close(1000)
            gate.open()
        }
        try await socket.opened()
        let reader = Task { for try await _ in socket.messages {} }
        reader.cancel()
        let error = await #expect(throws: CurlewError.self) { try await reader.value }
        #expect(error?.code == .cancelled)
        try await gate.wait()
        await transport.scriptsEnded()
    }

    @Test("cancelling the request ends its ping, its messages and its connection")
    func cancelledRequest() async throws {
        let (socket, transport) = Self.socket {
            await $0.accept()
            while await $0.next() != nil {}
        }
        try await socket.opened()
        let ping = Task { try await socket.ping() }
        socket.cancel()
        await #expect(throws: CurlewError.self) { try await ping.value }
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .cancelled)
        await transport.scriptsEnded()
        #expect(socket.isCancelled)
    }

    @Test("a session that is invalidated ends its WebSockets")
    func invalidated() async throws {
        let transport = ScriptedTransport {
            await $0.accept()
            while await $0.next() != nil {}
        }
        let session = Session(transport: transport)
        let socket = session.webSocket(Self.url)
        try await socket.opened()
        #expect(await session.activeRequests.count == 1)
        await session.invalidate()
        let error = await #expect(throws: CurlewError.self) { try await socket.send("x") }
        #expect(error?.code == .sessionClosed)
        await transport.scriptsEnded()
    }
}
