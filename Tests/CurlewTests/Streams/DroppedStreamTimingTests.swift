import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("How soon dropped streams and WebSockets free their connections", .timeLimit(.minutes(2)))
struct DroppedStreamTimingTests {
    private let session = Session()
    private let server: TestServer

    init() throws {
        var configuration = TestServer.Configuration()
        configuration.sendBufferSize = 64 << 10
        server = try TestServer(configuration)
        server.routeEndlessBody()
        server.webSocket("/socket", .echo)
    }

    enum Kind: CaseIterable { case head, sequence, iterator, resumed, webSocket, resumedWebSocket }

    /// A busy machine may delay most rounds. The second fastest still shows how long the end itself takes.
    @Test("the connection is free at once", arguments: Kind.allCases)
    func isFree(kind: Kind) async throws {
        var times: [Duration] = []
        for _ in 0..<7 {
            try await open(kind)
            let began = ContinuousClock.now
            while server.openConnectionCount > 0 { try await Task.sleep(for: .milliseconds(1)) }
            times.append(began.duration(to: .now))
        }
        #expect(times.sorted()[1] < Duration.milliseconds(50).asTestBound, "\(times)")
    }

    /// Opens a stream or a WebSocket and drops it. No variable of the caller keeps it.
    private func open(_ kind: Kind) async throws {
        switch kind {
        case .webSocket: _ = try await session.webSocket(server.url("/socket")).opened()
        case .resumedWebSocket: _ = try await session.webSocket(server.url("/socket")).resume().opened()
        case .resumed: _ = try await session.streamRequest(server.url("/endless")).resume().head()
        case .head, .sequence, .iterator: try await openStream(kind)
        }
    }

    private func openStream(_ kind: Kind) async throws {
        let request = session.streamRequest(server.url("/endless"))
        _ = try await request.head()
        switch kind {
        case .head, .resumed, .webSocket, .resumedWebSocket: break
        case .sequence: _ = request.chunks
        case .iterator:
            var chunks = request.chunks.makeAsyncIterator()
            _ = try await chunks.next()
        }
    }
}
