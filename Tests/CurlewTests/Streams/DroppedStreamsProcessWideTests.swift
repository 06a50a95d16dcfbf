import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@testable import Curlew

/// Drops many streams and WebSockets at different moments, and expects that nothing of them is left.
@Suite("Many dropped streams and WebSockets", .serialized, .timeLimit(.minutes(10)))
struct DroppedStreamsProcessWideTests {
    /// A sanitizer makes each of them many times slower.
    private static let total = Duration.testTimeFactor > 1 ? 1000 : 10_000
    private static let workers = 25

    private enum Way: CaseIterable {
        case untouched, resumed, cancelledHead, head, unreadSequence, unreadIterator, iterator, cancelledReader
        case resumedSocket, openedSocket, sendingSocket, readingSocket, cancelledSocket
    }

    private let session: Session
    private let transport: CurlTransport
    private let server: TestServer

    init() throws {
        var configuration = TestServer.Configuration()
        configuration.sendBufferSize = 16 << 10
        configuration.recordLimit = 100
        server = try TestServer(configuration)
        server.routeEndlessBody()
        server.webSocket("/echo", .echo)
        // Fewer than workers, so that some streams are dropped while they wait for a connection.
        let settings = SessionConfiguration {
            $0.proxy = .none
            $0.maximumConnectionsPerHost = 20
        }
        transport = try #require(settings.makeTransport() as? CurlTransport)
        session = Session(configuration: settings, transport: transport)
    }

    @Test("many dropped streams and WebSockets leave no descriptors, transfers, connections or requests")
    func many() async throws {
        // Opens before the count whatever a process opens once.
        var random = SplitMix(seed: 1)
        for way in Way.allCases { await drop(way, &random) }
        try await server.waitForOpenConnections(atMost: 0)
        let check = LeakCheck(
            .fileDescriptors, .threads(allowing: 8),
            .init("live transfers") { [transport] in transport.statistics.liveTransfers },
            .init("connections") { [server] in server.openConnectionCount },
            .init("requests") { [registry = session.registry] in registry.withLock { $0.activeRequests.count } })
        await withTaskGroup { group in
            for worker in 0..<Self.workers {
                group.addTask {
                    var random = SplitMix(seed: UInt64(worker) + 2)
                    for _ in 0..<Self.total / Self.workers {
                        await drop(Way.allCases.randomElement(using: &random) ?? .head, &random)
                    }
                }
            }
        }
        try await check.wait(timeout: .seconds(10))
    }

    /// Begins a stream or a WebSocket and drops it. No variable of the caller keeps it.
    private func drop(_ way: Way, _ random: inout SplitMix) async {
        switch way {
        case .untouched, .resumed, .cancelledHead, .head, .unreadSequence, .unreadIterator, .iterator, .cancelledReader:
            await dropStream(way, &random)
        case .resumedSocket, .openedSocket, .sendingSocket, .readingSocket, .cancelledSocket:
            await dropSocket(way, &random)
        }
    }

    private func dropSocket(_ way: Way, _ random: inout SplitMix) async {
        let url = server.url("/echo")
        let count = Int.random(in: 0..<4, using: &random)
        guard way != .cancelledSocket else {
            let task = Task { [session] in
                let socket = session.webSocket(url)
                try await socket.send("first")
                for try await _ in socket.messages { try await socket.send("again") }
            }
            await pause(&random)
            task.cancel()
            _ = await task.result
            return
        }
        let socket = session.webSocket(url)
        switch way {
        case .resumedSocket:
            socket.resume()
            await pause(&random)
        case .sendingSocket:
            for number in 0..<count { try? await socket.send("\(number)") }
        case .readingSocket:
            try? await socket.send("first")
            var messages = socket.messages.makeAsyncIterator()
            for _ in 0..<count {
                _ = try? await messages.next()
                try? await socket.send("next")
            }
        default: _ = try? await socket.opened()
        }
    }

    private func dropStream(_ way: Way, _ random: inout SplitMix) async {
        let url = server.url("/endless")
        let count = Int.random(in: 0..<4, using: &random)
        let request = session.streamRequest(url)
        switch way {
        case .untouched: break
        case .resumed:
            request.resume()
            await pause(&random)
        case .cancelledHead:
            let task = Task { [session] in try await session.streamRequest(url).head().status }
            await pause(&random)
            task.cancel()
            _ = await task.result
        case .head: _ = try? await request.head()
        case .unreadSequence:
            _ = try? await request.head()
            _ = (request.chunks, request.lines)
        case .unreadIterator:
            _ = try? await request.head()
            _ = request.chunks.makeAsyncIterator()
        case .iterator:
            var chunks = request.chunks.makeAsyncIterator()
            for _ in 0..<count { _ = try? await chunks.next() }
        default:
            let task = Task { [session] in
                for try await _ in session.streamRequest(url).chunks {}
            }
            await pause(&random)
            task.cancel()
            _ = await task.result
        }
    }

    /// Gives way to others, for a number of turns that only the seed decides.
    private func pause(_ random: inout SplitMix) async {
        for _ in 0..<Int.random(in: 0..<200, using: &random) { await Task.yield() }
    }
}
