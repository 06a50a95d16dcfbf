import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Delay of freeing dropped connections", .timeLimit(.minutes(2)))
struct DroppedStreamTimingTests {
    private let session: Session
    private let server: TestServer
    private let secureServer: TestServer

    init() throws {
        var configuration = TestServer.Configuration()
        configuration.sendBufferSize = 64 << 10
        server = try TestServer(configuration)
        server.routeEndlessBody()
        server.webSocket("/socket", .echo)
        let silent = TestServer.WebSocketScript([.send(.text("x")), .silence])
        server.webSocket("/silent", silent)
        configuration.tls = TestServer.TLS()
        secureServer = try TestServer(configuration)
        secureServer.webSocket("/silent", silent)
        let roots = secureServer.trustRoots
        session = Session(configuration: SessionConfiguration { $0.tls.trustRoots = roots })
    }

    enum Kind: CaseIterable {
        case head, sequence, iterator, resumed, webSocket, resumedWebSocket
        /// WebSockets whose server answers no close frame, and takes no messages.
        case silentWebSocket, closingWebSocket, fullWebSocket, secureWebSocket, fullSecureWebSocket
    }

    /// A busy machine may delay some rounds. The median still shows how long the end itself takes.
    @Test("a dropped stream or WebSocket frees its connection at once", arguments: Kind.allCases)
    func isFree(kind: Kind) async throws {
        var times: [Duration] = []
        for _ in 0..<7 {
            try await open(kind)
            let began = ContinuousClock.now
            while !isOver(kind) { try await Task.sleep(for: .milliseconds(1)) }
            times.append(began.duration(to: .now))
        }
        #expect(times.sorted()[times.count / 2] < Duration.milliseconds(50).asTestBound, "\(times)")
    }

    private func isOver(_ kind: Kind) -> Bool {
        switch kind {
        // A server that does not read cannot see an end that follows bytes that it has no room for.
        case .fullWebSocket, .fullSecureWebSocket: session.registry.withLock { $0.activeRequests.isEmpty }
        case .secureWebSocket: secureServer.openConnectionCount == 0
        case .head, .sequence, .iterator, .resumed, .webSocket, .resumedWebSocket, .silentWebSocket, .closingWebSocket:
            server.openConnectionCount == 0
        }
    }

    /// Opens a stream or a WebSocket and drops it. No variable of the caller keeps it.
    private func open(_ kind: Kind) async throws {
        switch kind {
        case .webSocket: _ = try await session.webSocket(server.url("/socket")).opened()
        case .resumedWebSocket: _ = try await session.webSocket(server.url("/socket")).resume().opened()
        case .resumed: _ = try await session.streamRequest(server.url("/endless")).resume().head()
        case .head, .sequence, .iterator: try await openStream(kind)
        case .silentWebSocket, .closingWebSocket, .fullWebSocket, .secureWebSocket, .fullSecureWebSocket:
            try await openSilentWebSocket(kind)
        }
    }

    private func openSilentWebSocket(_ kind: Kind) async throws {
        let isSecure = kind == .secureWebSocket || kind == .fullSecureWebSocket
        let url = (isSecure ? secureServer : server).url("/silent")
        let socket = session.webSocket(url) { $0.closeTimeout = .seconds(3600) }
        switch kind {
        case .closingWebSocket: for try await _ in socket.messages { break }
        // More than both sides' sockets hold.
        case .fullWebSocket, .fullSecureWebSocket: try await socket.send(Data(count: 16 << 20))
        case .head, .sequence, .iterator, .resumed, .webSocket, .resumedWebSocket, .silentWebSocket, .secureWebSocket:
            try await socket.opened()
        }
    }

    private func openStream(_ kind: Kind) async throws {
        let request = session.streamRequest(server.url("/endless"))
        _ = try await request.head()
        switch kind {
        case .head, .resumed, .webSocket, .resumedWebSocket, .silentWebSocket, .closingWebSocket, .fullWebSocket,
            .secureWebSocket, .fullSecureWebSocket:
            break
        case .sequence: _ = request.chunks
        case .iterator:
            var chunks = request.chunks.makeAsyncIterator()
            _ = try await chunks.next()
        }
    }
}
