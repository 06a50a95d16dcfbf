import Testing

@testable import CurlewRedis

@Suite("What a Redis store decides without a server")
struct RedisDecisionTests {
    @Test("a server that has failed is left alone for longer each time") func breaker() {
        var (breaker, now) = (RedisBreaker(), ContinuousClock.now)
        func allows(_ instant: ContinuousClock.Instant) -> Bool { breaker.allows(at: instant) }
        for _ in 0..<2 {
            breaker.failed(at: now)
            #expect(allows(now))
        }
        breaker.succeeded()
        for _ in 0..<3 { breaker.failed(at: now) }
        var pause = Duration.milliseconds(500)
        for _ in 0..<8 {
            #expect(!allows(now.advanced(by: pause - .milliseconds(1))))
            now = now.advanced(by: pause)
            #expect(breaker.mayAllow(at: now))
            #expect(allows(now))
            #expect(!allows(now))
            breaker.failed(at: now)
            pause = min(pause * 2, .seconds(15))
        }
        now = now.advanced(by: pause)
        #expect(allows(now))
        #expect(!allows(now.advanced(by: .seconds(14))))
        // A trial whose answer never came.
        #expect(allows(now.advanced(by: .seconds(15))))
        breaker.succeeded()
        for _ in 0..<2 { #expect(allows(now)) }
    }

    @Test("the largest answer is bounded for entries of any size") func maximumAnswer() {
        #expect(RedisCacheStore.maximumAnswer(maximumEntrySize: 4 << 20) == 68 << 20)
        #expect(RedisCacheStore.maximumAnswer(maximumEntrySize: .max) == .max)
        #expect(RedisCacheStore.maximumAnswer(maximumEntrySize: .min) == 64 << 20)
        _ = RedisCacheStore(url: "redis://localhost", maximumEntrySize: .max)
        _ = RedisCacheStore(url: "redis://localhost", maximumEntrySize: .min)
    }

    @Test("the parts of a URL") func address() throws {
        let full = try RedisAddress("redis://user:pa%20ss@example.test:7000/5")
        #expect(full.host == "example.test" && full.port == 7000 && full.database == 5)
        #expect(
            full.greeting.map { $0.arguments.map { String(decoding: $0, as: UTF8.self) } } == [
                ["AUTH", "user", "pa ss"], ["SELECT", "5"],
            ])
        let least = try RedisAddress("redis://[::1]")
        #expect(least.host == "::1" && least.port == 6379 && least.greeting.isEmpty)
    }

    @Test("a prefix is no pattern") func prefix() {
        #expect(RedisKeys(prefix: "a*[b]?\\:").everything == "a\\*\\[b\\]\\?\\\\:*")
    }
}
