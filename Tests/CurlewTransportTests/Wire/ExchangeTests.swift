import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Exchanges", .timeLimit(.minutes(4)))
struct ExchangeTests {
    @Test func deliversHeadAndBody() async throws {
        try await withTransport { transport, server in
            server.route("/hello") { _ in .text("hello").header("X-Twice", "1").header("X-Twice", "2") }
            let answer = try await transport.fetch(request(server.url("/hello")))
            #expect(answer.status == 200)
            #expect(answer.text == "hello")
            #expect(answer.sink.head == answer.outcome.head)
            #expect(answer.outcome.head.headers.values(for: "x-twice") == ["1", "2"])
            #expect(answer.outcome.head.version == .http1_1)
            #expect(answer.outcome.head.reason == "OK")
        }
    }

    @Test func connectionIsReused() async throws {
        try await withTransport { transport, server in
            for _ in 0..<5 { _ = try await transport.fetch(request(server.url("/bytes/100"))) }
            #expect(server.connectionCount == 1)
            #expect(transport.statistics.connectionsMade == 1)
            #expect(transport.statistics.easyHandlesIdle == 1)
        }
    }

    @Test func reportsMetrics() async throws {
        try await withTransport { transport, server in
            let first = try await transport.fetch(request(server.url("/bytes/1000"))).outcome.metrics
            let second = try await transport.fetch(request(server.url("/bytes/1000"))).outcome.metrics
            #expect(!first.isConnectionReused)
            #expect(second.isConnectionReused)
            #expect(first.remoteAddress == "127.0.0.1:\(server.port)")
            #expect(first.localAddress?.hasPrefix("127.0.0.1:") == true)
            #expect(first.decodedBytesReceived == 1000)
            #expect(first.bytesReceived > 1000)
            #expect(first.bytesSent > 0)
            let dates = [first.queued, first.connected, first.requestSent, first.firstByte, first.ended]
            #expect(dates.compactMap { $0 } == dates.compactMap { $0 }.sorted())
            #expect(dates.allSatisfy { $0 != nil })
        }
    }

    @Test func concurrentRequestsSucceed() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 16 }) { transport, server in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<200 {
                    let url = server.url("/bytes/\(index)")
                    group.addTask { try await transport.fetch(request(url)).sink.body.count }
                }
                var total = 0
                for try await count in group { total += count }
                #expect(total == (0..<200).reduce(0, +))
            }
            #expect(server.connectionCount <= 16)
        }
    }
}
