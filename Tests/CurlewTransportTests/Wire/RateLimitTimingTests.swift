import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Rate limits", .timeLimit(.minutes(4)), .serialized)
struct RateLimitTimingTests {
    /// A rate is kept on average over a whole transfer, so the transfer's duration shows it.
    private func expectRate(
        _ rate: Int, count: Int, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async throws {
        let ideal = Duration.seconds(1) * Double(count) / Double(rate)
        let most = (ideal * 1.3).asTestBound
        let time = try await fastestOfThree(below: most) {
            let took = try await elapsed(body)
            #expect(took > ideal * 0.7, sourceLocation: sourceLocation)
            return took
        }
        #expect(time < most, sourceLocation: sourceLocation)
    }

    @Test func downloadsKeepToTheirRate() async throws {
        let (rate, count) = (500_000, 1_000_000)
        try await withTransport({ $0.downloadRateLimit = rate }) { transport, server in
            try await expectRate(rate, count: count) {
                let answer = try await transport.fetch(request(server.url("/bytes/\(count)")))
                #expect(answer.sink.body == TestServer.patternBytes(count: count))
            }
            // A request may set its own rate.
            let second = Duration.seconds(1).asTestBound
            let quick = try await fastestOfThree(below: second) {
                try await elapsed {
                    _ = try await transport.fetch(
                        request(server.url("/bytes/\(count)")) { $0.options.downloadRateLimit = 100_000_000 })
                }
            }
            #expect(quick < second)
        }
    }

    @Test func uploadsKeepToTheirRate() async throws {
        let (rate, count) = (500_000, 1_000_000)
        try await withTransport({ $0.uploadRateLimit = rate }) { transport, server in
            try await expectRate(rate, count: count) {
                let data = TestServer.patternBytes(count: count)
                _ = try await transport.fetch(
                    request(server.url("/anything"), method: .put, body: .data(data)) {
                        $0.options.expectContinue = .never
                    })
                #expect(server.requests.last?.body == data)
            }
        }
    }
}
