import Curlew
import CurlewCore
import CurlewRedis
import CurlewTesting
import Foundation
import Testing

@Suite(
    "A rate in a Redis that answers slowly",
    .serialized,
    .timeLimit(.minutes(4)),
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct SlowRedisTimingTests {
    @Test("while answers take two seconds, requests wait for a tenth of one, and are sent at the local share")
    func slow() async throws {
        let server = try await RedisProcess()
        let relay = try FaultyRedis(server: server.socket, .delay(.zero))
        let fleet = RedisFleet(
            url: relay.url(), localShare: 0.5, connectTimeout: .seconds(5), operationTimeout: .seconds(20))
        var configuration = SessionConfiguration()
        configuration.resilience.rateLimit = RateLimit.requests(1_000, per: .seconds(1)).shared(by: fleet)
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("fine") })
        func send() async throws -> Duration {
            let start = ContinuousClock.now
            _ = try await session.request("https://api.example.org/").data()
            return ContinuousClock.now - start
        }
        while fleet.statistics.granted == 0 { _ = try await send() }
        relay.set(.delay(.seconds(2)))
        let (before, start) = (fleet.statistics, ContinuousClock.now)
        var (longest, sent) = (Duration.zero, 0)
        // One answer may have been under way.
        while fleet.statistics.operations < before.operations + 3 {
            longest = max(longest, try await send())
            sent += 1
        }
        let (after, elapsed) = (fleet.statistics, ContinuousClock.now - start)
        #expect(elapsed > .seconds(4) && after.failures == 0)
        // Without that bound, requests would wait until the last lease has ended, a second after its start.
        #expect(longest < LeasedRate.patience + .milliseconds(400))
        #expect(after.local - before.local > 10)
        // The local share, and what was leased by then, at most a tenth of a second's requests twice.
        #expect(Double(sent) <= elapsed / .seconds(1) * 500 * 1.05 + 200 + Double(after.granted - before.granted))
        withExtendedLifetime(relay) {}
    }
}
