import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite(
    "Rate limits and circuits in Redis",
    .serialized,
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct RedisFleetTests {
    /// One request in six minutes, so that no answer depends on how long a test takes.
    private static let slow = CellRate(10, per: .seconds(3_600), burst: 1)

    private func fleet(_ url: String, prefix: String = "curlew:", share: Double = 0.5) -> RedisFleet {
        RedisFleet(
            url: url, prefix: prefix, localShare: share, connectTimeout: .seconds(5), operationTimeout: .seconds(5))
    }

    private func fleet(_ url: String, circuitRefresh: Duration) -> RedisFleet {
        RedisFleet(
            url: url, circuitRefresh: circuitRefresh, connectTimeout: .seconds(5), operationTimeout: .seconds(5))
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

    @Test("a burst is leased at once, and no more than was requested") func bursts() async throws {
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

    /// Changes the records of a rate to those of a time when the clock was this far ahead: so the clock is set back.
    /// Returns the time for which the times of the processes are kept.
    @discardableResult
    private func setClockBack(by step: Int, of order: RateLeaseOrder, _ fleet: RedisFleet) async throws -> Duration {
        let script = """
            local due = redis.call('GET', KEYS[1])
            if due then redis.call('SET', KEYS[1], string.format('%.0f', due + ARGV[1])) end
            local times = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
            for i = 1, #times, 2 do redis.call('ZINCRBY', KEYS[2], ARGV[1], times[i]) end
            return redis.call('PTTL', KEYS[2])
            """
        let command = RedisCommand(script: script, keys: fleet.keys(of: order), [Data("\(step)".utf8)])
        let life = try await fleet.ask(command).get()?.number
        return .milliseconds(try #require(life))
    }

    @Test("after the server's clock is set back, leases begin no later than before", arguments: [2, 3_600, 100_000])
    func clockSetBack(seconds: Int) async throws {
        let server = try await RedisProcess()
        let fleets = [fleet(server.url()), fleet(server.url())]
        let first = try #require(await fleets[0].lease(order()))
        #expect(first == RateLease(granted: 1))
        let kept = try await setClockBack(by: seconds * 1_000_000, of: order(), fleets[0])
        #expect(kept > .seconds(300), "as long as the due time")
        // As without the step: the rate's next request is due in an interval, and the one after it is not granted.
        let second = try #require(await fleets[1].lease(order()))
        #expect(second.granted == 1 && second.wait > .seconds(300) && second.wait <= .seconds(360))
        let third = try #require(await fleets[0].lease(order()))
        #expect(third.granted == 0 && third.wait > .seconds(660) && third.wait <= .seconds(720))
    }

    @Test("after the server's clock is set back, processes that have ended have no part of the rate")
    func clockSetBackDead() async throws {
        let server = try await RedisProcess()
        let rate = CellRate(1_000_000, per: .seconds(1), burst: 1)
        for _ in 0..<9 { _ = await fleet(server.url()).lease(order("a", rate, wanted: 1)) }
        let fleet = fleet(server.url())
        try await setClockBack(by: 3_600_000_000, of: order("a", rate), fleet)
        // A tenth of a second's requests, for the only process.
        #expect(await fleet.lease(order("a", rate, wanted: 1 << 40)) == RateLease(granted: 100_000))
    }

    @Test("after the server's clock is set forward, no more is granted than to a new rate")
    func clockSetForward() async throws {
        let server = try await RedisProcess()
        let fleet = fleet(server.url())
        for _ in 0..<2 { #expect(await fleet.lease(order())?.granted == 1) }
        try await setClockBack(by: -3_600_000_000, of: order(), fleet)
        #expect(await fleet.lease(order()) == RateLease(granted: 1))
        let second = try #require(await fleet.lease(order()))
        #expect(second.granted == 1 && second.wait > .seconds(300) && second.wait <= .seconds(360))
        #expect(await fleet.lease(order())?.granted == 0)
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
        let fleet = RedisFleet(
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

    // MARK: Circuits

    @Test("other processes see an opening until it ends, and of several openings the longest")
    func openings() async throws {
        let server = try await RedisProcess()
        let (one, other) = (fleet(server.url()), fleet(server.url()))
        let asks = [CircuitQuestion(name: "a"), CircuitQuestion(name: "b")]
        #expect(await one.ask(asks) == [.zero, .zero])
        #expect(await one.ask([CircuitQuestion(name: "a", remaining: .seconds(3_600))]) == [.seconds(3_600)])
        let seen = try #require(await other.ask(asks))
        try #require(seen.count == 2)
        #expect(seen[0] > .seconds(3_000) && seen[0] <= .seconds(3_600) && seen[1] == .zero)
        let kept = try #require(await other.ask([CircuitQuestion(name: "a", remaining: .seconds(60))])?.first)
        #expect(kept > .seconds(3_000) && kept <= .seconds(3_600))
        #expect(await other.ask([CircuitQuestion(name: "a", remaining: .seconds(7_200))]) == [.seconds(7_200)])
        let prolonged = try #require(await one.ask(asks)?.first)
        #expect(prolonged > .seconds(3_600) && prolonged <= .seconds(7_200))
        #expect(await fleet(server.url(), prefix: "other:").ask(asks) == [.zero, .zero])
        #expect(await one.ask([CircuitQuestion(name: "b", remaining: .nanoseconds(1))]) == [.milliseconds(1)])
        #expect(try await eventually { await other.ask(asks)?.last == .zero })
        let numbers = one.statistics
        #expect(numbers.openings == 2 && numbers.failures == 0 && numbers.operations == 4 && numbers.leases == 0)
    }

    @Test(
        "an invalid reply about circuits is ignored, and an absurd time is limited by the circuit",
        arguments: [
            (":1\r\n", nil), ("*0\r\n", nil), ("*2\r\n:1\r\n:1\r\n", nil), ("-ERR no\r\n", nil),
            ("*1\r\n$1\r\na\r\n", nil), ("*2\r\n:1\r\n$1\r\na\r\n", nil), ("*1\r\n:0\r\n", [.zero]),
            ("*1\r\n:9223372036854775807\r\n", [.milliseconds(Int.max)]), ("*1\r\n:-2\r\n", [.milliseconds(-2)]),
        ] as [(String, [Duration]?)])
    func badOpenings(answer: String, remaining: [Duration]?) async throws {
        let proxy = try FaultyRedis(.answer(Data(answer.utf8)))
        let fleet = fleet(proxy.url())
        #expect(await fleet.ask([CircuitQuestion(name: "a")]) == remaining)
        #expect(fleet.statistics.failures == (remaining == nil ? 1 : 0))
        withExtendedLifetime(proxy) {}
    }

    /// A session whose circuits are shared, and whose server answers with a status.
    private func session(_ fleet: RedisFleet, status: Int, minimumCalls: Int = 2) -> Session {
        var configuration = SessionConfiguration()
        let breaker = CircuitBreaker(
            window: .count(minimumCalls), minimumCalls: minimumCalls, openFor: .seconds(3_600))
        configuration.resilience.breaker = breaker.shared(by: fleet)
        return Session(configuration: configuration, transport: MockTransport { _ in .status(status) })
    }

    /// Whether the circuit refuses a request.
    private func isRefused(_ session: Session, _ url: String) async throws -> Bool {
        do throws(CurlewError) {
            _ = try await session.request(url).data()
            return false
        } catch {
            switch error.code {
            case .circuitOpen: return true
            case .unacceptableStatus: return false
            default: throw error
            }
        }
    }

    @Test("after an opening in one session, fewer failures open another's circuit, and successes are not refused")
    func sharedCircuits() async throws {
        let server = try await RedisProcess()
        let slow = try FaultyRedis(server: server.socket, .delay(.milliseconds(200)))
        let fleets = [server.url(), slow.url(), server.url()].map { fleet($0, circuitRefresh: .milliseconds(10)) }
        let failing = session(fleets[0], status: 503)
        // Of its own accord it would not open during this test.
        let other = session(fleets[1], status: 503, minimumCalls: 10_000)
        let fine = session(fleets[2], status: 200)
        let (first, second) = ("https://a.example.org/", "https://b.example.org/")
        #expect(try await !isRefused(other, first), "nothing is known yet")
        for _ in 0..<2 { #expect(try await !isRefused(failing, first)) }
        #expect(try await isRefused(failing, first))
        #expect(try await eventually { try await isRefused(other, first) })
        #expect(try await eventually { fleets[0].statistics.openings == 1 })
        // It asks again and again, and learns of the opening. A circuit that opened would stay open.
        #expect(try await eventually { try await !isRefused(fine, first) && fleets[2].statistics.operations > 3 })
        // Other origins have other circuits.
        #expect(try await !isRefused(other, second))

        try await server.kill()
        for _ in 0..<2 { #expect(try await !isRefused(failing, second)) }
        #expect(try await isRefused(failing, second))
        #expect(try await !isRefused(other, second))
        #expect(try await !isRefused(fine, second))
        #expect(try await isRefused(other, first), "an open circuit stays open")
        try await server.start()
        #expect(
            try await eventually {
                let isPublished = try await isRefused(failing, second) && fleets[0].statistics.openings > 1
                return try await isRefused(other, second) && isPublished
            })
        #expect(try await !isRefused(fine, second))
        #expect(fleets[0].statistics.openings == 2)
        #expect(fleets[1].statistics.openings == 0, "an opening with few calls is not published")
        withExtendedLifetime(slow) {}
    }
}
