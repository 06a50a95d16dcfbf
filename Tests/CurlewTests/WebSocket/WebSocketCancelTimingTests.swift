internal import CurlewCore
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("Delay of cancelling a WebSocket", .timeLimit(.minutes(4)))
struct WebSocketCancelTimingTests {
    typealias Script = TestServer.WebSocketScript

    enum Phase: CaseIterable { case connect, tls, handshake, open, closing, lingering }

    /// A busy machine may delay most rounds. The second fastest still shows how long a cancellation itself takes.
    @Test("cancelling ends a WebSocket at once in every phase and leaves no request", arguments: Phase.allCases)
    func cancels(phase: Phase) async throws {
        // A single trust root: loading those of the system takes as long as the bound, and cannot be cancelled.
        var secure = TestServer.Configuration()
        secure.tls = TestServer.TLS()
        let roots = try TestServer(secure).trustRoots
        var times: [Duration] = []
        for _ in 0..<7 { times.append(try await measure(phase, roots)) }
        #expect(times.sorted()[1] < Duration.milliseconds(50).asTestBound, "\(times)")
    }

    /// Returns how long a WebSocket takes to end when it is cancelled in `phase`.
    private func measure(_ phase: Phase, _ roots: TrustRoots) async throws -> Duration {
        let session = Session(configuration: SessionConfiguration { $0.tls.trustRoots = roots })
        let deadEnd = try DeadEnd(phase == .connect ? .saturated : .silent)
        let server = try TestServer()
        server.webSocket("/open", .echo)
        server.webSocket("/closing", Script([.silence]))
        server.webSocket("/lingering", Script([.raw(Data([0xF1, 0])), .silence]))
        let url =
            switch phase {
            case .connect, .handshake: "ws://127.0.0.1:\(deadEnd.port)/"
            case .tls: "wss://127.0.0.1:\(deadEnd.port)/"
            case .open: server.url("/open").absoluteString
            case .closing: server.url("/closing").absoluteString
            case .lingering: server.url("/lingering").absoluteString
            }
        let socket = session.webSocket(url) { $0.closeTimeout = .seconds(60) }
        let waiting: Task<Void, any Error>
        switch phase {
        case .connect, .tls, .handshake:
            let started = Watched(false)
            let monitor = ClosureStart { started.change { $0 = true } }
            socket.eventMonitor(monitor)
            waiting = Task { try await socket.opened() }
            try await eventually { started.value }
        case .open:
            try await socket.opened()
            waiting = Task { for try await _ in socket.messages {} }
        case .closing:
            try await socket.opened()
            waiting = Task { try await socket.close() }
            try await eventually { socket.link.isClosing }
        case .lingering:
            #expect(await socket.readToEnd().error?.code == .protocolViolation)
            waiting = Task { _ = await socket.driveOrJoin(socket.beginAwaiting(), checksStatus: false) }
        }
        let began = ContinuousClock.now
        socket.cancel()
        let result = await waiting.result
        await socket.link.ended.wait()
        let took = ContinuousClock.now - began
        switch phase {
        case .connect, .tls, .handshake, .open:
            #expect(throws: CurlewError.self) { try result.get() }
        case .closing, .lingering: break
        }
        // A server that sees the client's end closes the connection, which may end the lingering before the
        // cancellation does.
        if phase != .lingering { try await eventually { socket.isCancelled } }
        await session.invalidate()
        #expect(await session.activeRequests.isEmpty)
        return took
    }
}

/// Calls a closure when an exchange has begun.
private final class ClosureStart: EventMonitor {
    let queue = DispatchQueue(label: "start")
    let onStart: @Sendable () -> Void

    init(_ onStart: @escaping @Sendable () -> Void) { self.onStart = onStart }

    func request(_ request: Request, didChangeTask task: TaskIdentifier, to change: TaskChange) {
        if case .resumed = change { onStart() }
    }
}
