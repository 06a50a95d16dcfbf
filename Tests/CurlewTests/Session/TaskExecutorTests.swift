import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TaskExecutorTests {
    private struct Item: Codable, Equatable { var number: Int }

    @Test func everyKindOfRequestWorksOnTheSessionsThread() async throws {
        let server = try TestServer()
        server.script("/item", .json(Item(number: 7)), .status(503), .json(Item(number: 8)))
        let session = Session(interceptor: RetryPolicy(exponentialBackoffScale: 0.001))
        let executor: any TaskExecutor = try #require(session.taskExecutor)
        try await withTaskExecutorPreference(executor) {
            #expect(try await session.request(server.url("/item")).decode(Item.self).number == 7)
            #expect(try await session.request(server.url("/item")).decode(Item.self).number == 8)
            let sent = try await session.upload(Data("body".utf8), to: server.url("/post")).data()
            #expect(!sent.isEmpty)
            var bytes = 0
            for try await chunk in session.streamRequest(server.url("/bytes/300000")).chunks { bytes += chunk.count }
            #expect(bytes == 300_000)
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            let download = session.download(server.url("/bytes/300000"), to: { _, _ in (file, []) })
            #expect(try Data(contentsOf: try await download.file()).count == 300_000)
            #expect(await session.request(server.url("/get")).serializingString().response.error == nil)
        }
    }

    @Test func aTransportWithoutAThreadHasNoPreference() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") })
        #expect(session.taskExecutor == nil)
        let text = try await withTaskExecutorPreference(session.taskExecutor) {
            try await session.request("https://example.org/").string()
        }
        #expect(text == "x")
    }
}
