import CurlewCore
import CurlewLocks
import Dispatch
import Foundation
import Glibc
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite("Decisions of a Redis store without a server")
struct RedisDecisionTests {
    @Test("the pause after failures of a server doubles up to 15 seconds") func breaker() {
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
        // The trial has had no result for 15 s, so the breaker allows another one.
        #expect(allows(now.advanced(by: .seconds(15))))
        breaker.succeeded()
        for _ in 0..<2 { #expect(allows(now)) }
    }

    @Test("a fleet with requests asks a server that is away at least every 23 seconds") func asksAgain() throws {
        let start = ContinuousClock.now
        var (breaker, rate) = (RedisBreaker(), LeasedRate(CellRate(100, per: .seconds(1), burst: 1), share: 0.1))
        var (asked, now) = ([Duration.zero], Duration.zero)
        while now < .seconds(300) {
            if rate.order("a", waiting: 1, at: now) != nil {
                if breaker.allows(at: start + now) {
                    asked.append(now)
                    breaker.failed(at: start + now)
                }
                rate.answered(nil, at: now)
            }
            now += .milliseconds(10)
        }
        let gaps = zip(asked, asked.dropFirst()).map { $1 - $0 }
        let longest = try #require(gaps.max())
        #expect(longest > .seconds(15) && longest <= .seconds(23))
    }

    @Test("a command that was not sent does not change the breaker") func notAsked() {
        var (breaker, now) = (RedisBreaker(), ContinuousClock.now)
        func allows(_ instant: ContinuousClock.Instant) -> Bool { breaker.allows(at: instant) }
        for _ in 0..<9 { breaker.wasNotAsked(at: now) }
        #expect(allows(now))
        for _ in 0..<3 { breaker.failed(at: now) }
        breaker.wasNotAsked(at: now)
        #expect(!allows(now))
        now = now.advanced(by: .milliseconds(500))
        #expect(allows(now))
        // The trial was not sent, so the breaker allows another one.
        breaker.wasNotAsked(at: now)
        #expect(allows(now))
        #expect(!allows(now))
        breaker.failed(at: now)
        #expect(!allows(now.advanced(by: .milliseconds(999))))
    }

    @Test("callers that ask for a name during its lookup get its addresses") func names() async {
        let (callers, asking) = (8, Lock(0))
        let names = RedisNames("redis.example") { _ in
            while asking.withLock({ $0 }) < callers { sched_yield() }
            // Gives the callers that have announced their question time to ask it.
            for _ in 0..<500 { sched_yield() }
            return ["192.0.2.1"]
        }
        let found = Lock<[[String]]>([])
        let done = DispatchGroup()
        for _ in 0..<callers {
            done.enter()
            Thread.detachNewThread {
                asking.withLock { $0 += 1 }
                let addresses = names.addresses(within: .seconds(60))
                found.withLock { $0.append(addresses) }
                done.leave()
            }
        }
        await withCheckedContinuation { continuation in done.notify(queue: .global()) { continuation.resume() } }
        #expect(found.withLock { $0 } == Array(repeating: ["192.0.2.1"], count: callers))
    }

    @Test("a name that was not found is looked up again") func nameNotFound() {
        let lookups = Lock(0)
        let names = RedisNames("redis.example") { _ in
            lookups.withLock { count -> [String] in
                count += 1
                return count == 1 ? [] : ["192.0.2.\(count)"]
            }
        }
        #expect(names.addresses(within: .seconds(60)) == [])
        for _ in 0..<2 { #expect(names.addresses(within: .seconds(60)) == ["192.0.2.2"]) }
        names.forget()
        #expect(names.addresses(within: .seconds(60)) == ["192.0.2.3"])
    }

    @Test("the largest allowed reply is computed without overflow") func maximumAnswer() {
        #expect(RedisCacheStore.maximumAnswer(maximumEntrySize: 4 << 20) == 68 << 20)
        #expect(RedisCacheStore.maximumAnswer(maximumEntrySize: .max) == .max)
        #expect(RedisCacheStore.maximumAnswer(maximumEntrySize: .min) == 64 << 20)
        _ = RedisCacheStore(url: "redis://localhost", maximumEntrySize: .max)
        _ = RedisCacheStore(url: "redis://localhost", maximumEntrySize: .min)
    }

    @Test("a Redis URL is parsed into host, port, database and credentials") func address() throws {
        let full = try RedisAddress("redis://user:pa%20ss@example.test:7000/5")
        #expect(full.host == "example.test" && full.port == 7000 && full.database == 5)
        #expect(
            full.greeting.map { $0.arguments.map { String(decoding: $0, as: UTF8.self) } } == [
                ["AUTH", "user", "pa ss"], ["SELECT", "5"],
            ])
        let least = try RedisAddress("redis://[::1]")
        #expect(least.host == "::1" && least.port == 6379 && least.greeting.isEmpty)
    }

    @Test("special characters of a prefix are escaped in patterns") func prefix() {
        #expect(RedisKeys(prefix: "a*[b]?\\:").everything == "a\\*\\[b\\]\\?\\\\:*")
    }
}

@Suite("Records in Redis")
struct RedisRecordTests {
    private static let entry = EntryMaker { Date(timeIntervalSince1970: 1_700_000_000) }

    private static let records = [
        RedisRecord(entry: entry("a", headers: ["ETag": "\"e\""]), size: 10, rest: Data("0123456789".utf8)),
        RedisRecord(entry: entry("b", variant: "v"), size: 600_000, rest: bytes(16)),
    ]

    @Test("a record is decoded unchanged, and a changed bit or a cut makes it invalid", arguments: records.indices)
    func changed(at index: Int) throws {
        let record = Self.records[index]
        let encoded = record.encoded
        let read = try #require(RedisRecord(encoded))
        #expect(read.entry == record.entry && read.size == record.size && read.rest == record.rest)
        for place in encoded.indices {
            for bit in 0..<8 {
                var damaged = encoded
                damaged[place] ^= 1 << bit
                if RedisRecord(damaged) != nil { Issue.record("bit \(bit) of byte \(place)") }
            }
            #expect(RedisRecord(encoded.prefix(place)) == nil)
        }
        #expect(RedisRecord(encoded + [0]) == nil)
    }

    @Test(
        "a record with an impossible body size is invalid despite a right checksum",
        arguments: [-1, .min, .max, .max - (512 << 10)])
    func sizes(_ size: Int64) {
        let encoded = Self.records[0].entry.encoded
        let rest =
            RedisRecord.bytes(UInt64(bitPattern: size), count: 8)
            + RedisRecord.bytes(UInt64(encoded.count), count: 4) + encoded
        #expect(RedisRecord(Data([1]) + RedisRecord.bytes(StoreChecksum.of(rest), count: 8) + rest) == nil)
    }
}
