import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite(
    "Rate limits in Redis",
    .serialized,
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct RedisRateLimitTests {
    /// One request in six minutes, so that no answer depends on how long a test takes.
    private static let slow = CellRate(10, per: .seconds(3_600), burst: 1)

    private func fleet(_ url: String, prefix: String = "curlew:", share: Double = 0.5) -> RedisRateLimit {
        RedisRateLimit(
            url: url, prefix: prefix, localShare: share, connectTimeout: .seconds(5), operationTimeout: .seconds(5))
    }

    private func order(
        _ name: String = "a", _ rate: CellRate = Self.slow, wanted: Int = 5, charge: Int = 0, sentLocally: Int = 0
    ) -> RateLeaseOrder {
        RateLeaseOrder(name: name, rate: rate, wanted: wanted, charge: charge, sentLocally: sentLocally)
    }

    @Test("processes lease the requests of a rate in turn, at most one in advance") func turns() async throws {
        let server = try await RedisProcess()
        let fleets = [fleet(server.url()), fleet(server.url())]
        let first = try #require(await fleets[0].lease(order()))
        #expect(first == RateLease(granted: 1))
        let second = try #require(await fleets[1].lease(order()))
        #expect(second.granted == 1 && second.wait > .seconds(300) && second.wait <= .seconds(360))
        let third = try #require(await fleets[0].lease(order()))
        #expect(third.granted == 0 && third.wait > .seconds(660) && third.wait <= .seconds(720))
        #expect(third.retry == third.wait - .seconds(360))
        // Other names, numbers and prefixes are other rates.
        #expect(await fleets[0].lease(order("b"))?.granted == 1)
        let other = CellRate(10, per: .seconds(3_601), burst: 1)
        #expect(await fleets[0].lease(order("a", other))?.wait == .zero)
        #expect(await fleet(server.url(), prefix: "other:").lease(order())?.wait == .zero)
    }

    @Test("a burst is leased at once, and no more than was wanted") func bursts() async throws {
        let server = try await RedisProcess()
        let rate = CellRate(1_000_000, per: .seconds(1), burst: 1)
        #expect(await fleet(server.url()).lease(order("a", rate, wanted: 7))?.granted == 7)
        // A tenth of a second's requests at once, for the only process.
        #expect(await fleet(server.url(), prefix: "b:").lease(order("a", rate, wanted: 1 << 40))?.granted == 100_000)
        let burst = CellRate(10, per: .seconds(3_600), burst: 3)
        for number in 0..<4 {
            let lease = try #require(await fleet(server.url()).lease(order("burst", burst)))
            #expect(lease.granted == 1 && (lease.wait == .zero) == (number < 3))
        }
    }

    @Test("requests without a lease are charged, unused ones are given back") func charges() async throws {
        let server = try await RedisProcess()
        let fleet = fleet(server.url())
        let charged = try #require(await fleet.lease(order(wanted: 0, charge: 3, sentLocally: 3)))
        #expect(charged.granted == 0 && charged.wait > .seconds(1_000) && charged.wait <= .seconds(1_080))
        #expect(await fleet.lease(order(wanted: 0, charge: -9)) == RateLease(granted: 0))
        #expect(await fleet.lease(order(wanted: 1)) == RateLease(granted: 1))
        let numbers = fleet.statistics
        #expect(numbers.operations == 3 && numbers.leases == 1 && numbers.granted == 1)
        #expect(numbers.local == 3 && numbers.failures == 0)
    }

    @Test(
        "an invalid reply grants no lease, and absurd numbers are bounded",
        arguments: [
            (":1\r\n", nil), ("*0\r\n", nil), ("*3\r\n:1\r\n:2\r\n$1\r\na\r\n", nil), ("-ERR no\r\n", nil),
            ("HTTP", nil),
            ("*3\r\n:99\r\n:-5\r\n:0\r\n", RateLease(granted: 5)),
            (
                "*3\r\n:-9\r\n:9223372036854775807\r\n:9223372036854775807\r\n",
                RateLease(granted: 0, wait: .seconds(31_536_000), retry: .seconds(31_536_000))
            ),
        ] as [(String, RateLease?)])
    func badAnswers(answer: String, lease: RateLease?) async throws {
        let proxy = try FaultyRedis(.answer(Data(answer.utf8)))
        let fleet = RedisRateLimit(
            url: proxy.url(), connectTimeout: .seconds(5),
            operationTimeout: answer == "HTTP" ? .milliseconds(200) : .seconds(5))
        #expect(await fleet.lease(order()) == lease)
        #expect(fleet.statistics.failures == (lease == nil ? 1 : 0))
        withExtendedLifetime(proxy) {}
    }

    @Test("without a server there is no lease, and ping says why") func missing() async throws {
        let closed = try LoopbackListener(listens: false)
        let limit = fleet("redis://127.0.0.1:\(closed.port)")
        #expect(await limit.lease(order(sentLocally: 4)) == nil)
        #expect(limit.statistics.failures == 1 && limit.statistics.local == 4)
        for (url, code) in [
            ("redis://127.0.0.1:\(closed.port)", CurlewError.Code.connectFailed), ("rediss://a", .unsupported),
            ("nonsense", .invalidURL),
        ] {
            do throws(CurlewError) {
                try await fleet(url).ping()
                Issue.record("\(url) answers")
            } catch {
                #expect(error.code == code)
            }
        }
        withExtendedLifetime(closed) {}
    }

    @Test("sessions share a limit, send without leases while the server is down, and then lease again")
    func sessions() async throws {
        let server = try await RedisProcess()
        let fleets = [fleet(server.url()), fleet(server.url())]
        let sessions = fleets.map { fleet in
            var configuration = SessionConfiguration()
            configuration.resilience.rateLimit = RateLimit.requests(200, per: .seconds(1)).shared(by: fleet)
            return Session(configuration: configuration, transport: MockTransport { _ in .text("fine") })
        }
        func send(_ count: Int) async throws {
            for session in sessions {
                for _ in 0..<count { _ = try await session.request("https://api.example.org/").data() }
            }
        }
        try await send(30)
        for fleet in fleets {
            let numbers = fleet.statistics
            #expect(numbers.granted > 0 && numbers.failures == 0 && numbers.operations <= 60)
        }
        try await server.kill()
        try await send(30)
        #expect(fleets.allSatisfy { $0.statistics.failures > 0 })
        try await server.start()
        let before = fleets.map(\.statistics.granted)
        #expect(
            try await eventually {
                try await send(1)
                return zip(fleets, before).allSatisfy { $0.statistics.granted > $1 }
            })
    }
}
