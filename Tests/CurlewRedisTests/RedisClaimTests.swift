import CurlewCore
import CurlewLocks
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

/// Claims of several processes. Each store acts as one process of a fleet.
@Suite("Claims in Redis", .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers"))
struct RedisClaimTests {
    private let server: RedisProcess
    private let key = entry("a").key

    init() async throws { server = try await RedisProcess() }

    private func fleet(_ count: Int, _ url: String? = nil, times: RedisClaimTimes = .minutes) -> [RedisCacheStore] {
        (0..<count).map { _ in
            RedisCacheStore(
                url: url ?? server.url(),
                prefix: "curlew:",
                maximumEntrySize: 4 << 20,
                connectTimeout: .seconds(5),
                operationTimeout: .seconds(5),
                connections: 1,
                claimTimes: times
            )
        }
    }

    /// Asks each of `stores` for the claim that another store has, runs `then`, and returns the results.
    private func waiters(_ stores: [RedisCacheStore], then: () async -> Void) async -> [Bool] {
        await withTaskGroup(of: Bool.self) { group in
            for store in stores { group.addTask { await store.claimFetch(of: key) } }
            await then()
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("of a fleet that claims a key at once, one store fetches and the others find its entry")
    func fleet() async throws {
        let answers = await withTaskGroup(of: Bool.self) { group in
            for store in fleet(20) {
                group.addTask {
                    let isFirst = await store.claimFetch(of: key)
                    if isFirst {
                        await store.put(entry("a"), bytes(100))
                        await store.fetchEnded(of: key, stored: true)
                    } else if await store.entries(for: key).count != 1 {
                        Issue.record("an entry was promised")
                    }
                    return isFirst
                }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(answers.count { $0 } == 1)
    }

    @Test("when a claim ends, its waiters use the stored entry, or fetch if there is none", arguments: [true, false])
    func ended(stored: Bool) async throws {
        let stores = fleet(6)
        #expect(await stores[0].claimFetch(of: key))
        let told = await waiters(Array(stores.dropFirst())) {
            try? await Task.sleep(for: .milliseconds(100))
            await stores[0].fetchEnded(of: key, stored: stored)
        }
        #expect(told == Array(repeating: !stored, count: 5))
        // A process that asks a moment later gets the same result.
        #expect(await stores[1].claimFetch(of: key) == !stored)
    }

    @Test("a key can be claimed again some time after its entry was stored") func markEnds() async throws {
        let stores = fleet(2, times: RedisClaimTimes())
        #expect(await stores[0].claimFetch(of: key))
        await stores[0].fetchEnded(of: key, stored: true)
        #expect(try await eventually { await stores[1].claimFetch(of: key) })
    }

    @Test("if a claim vanishes without a result, one of its waiters takes over") func abandoned() async throws {
        let stores = fleet(4)
        #expect(await stores[0].claimFetch(of: key))
        let told = await waiters(Array(stores.dropFirst())) {
            try? await Task.sleep(for: .milliseconds(50))
            _ = await stores[0].replies([RedisCommand("DEL", stores[0].keys.claim(key))])
            // The store that took over has a token in `claims`. It ends its claim while the others wait.
            _ = try? await eventually { stores.dropFirst().contains { $0.claims.withLock { !$0.isEmpty } } }
            for store in stores.dropFirst() { await store.fetchEnded(of: key, stored: true) }
        }
        #expect(told.count { $0 } == 1)
        // The end of the first store's lost claim changes nothing.
        await stores[0].fetchEnded(of: key, stored: false)
        let said = await stores[1].replies([RedisCommand("GET", stores[1].keys.claim(key))])?.first?.data
        #expect(said == Data("+".utf8))
    }

    @Test("a waiter that is cancelled returns at once") func cancelled() async throws {
        let stores = fleet(2)
        #expect(await stores[0].claimFetch(of: key))
        let start = ContinuousClock.now
        let task = Task { await stores[1].claimFetch(of: key) }
        task.cancel()
        _ = await task.value
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    @Test("a claim that never expires is waited for once, and then ended by the waiter") func endless() async throws {
        var times = RedisClaimTimes.minutes
        times.claim = .milliseconds(200)
        let stores = fleet(2, times: times)
        let name = stores[0].keys.claim(key)
        let set = ["SET", name, "other"].map { Data($0.utf8) }
        _ = await stores[0].replies([RedisCommand(set)])
        #expect(await stores[0].claimFetch(of: key))
        #expect(await said(stores[1]) == Data("-".utf8))
        let time = await stores[1].replies([RedisCommand("PTTL", name)])?.first?.number
        #expect(try #require(time) > 0)
    }

    /// Returns the value at the key of the claim: a token while it is held, then the mark of its result.
    private func said(_ store: RedisCacheStore) async -> Data? {
        await store.replies([RedisCommand("GET", store.keys.claim(key))])?.first?.data
    }

    @Test("a waiter that takes over after another process has stored the entry finds that entry") func overtaken()
        async throws
    {
        let held = "$8\r\nabcdefgh\r\n"
        // Another process has the claim. Then the claim is gone, but before this store can take it, a third process has
        // stored the entry and left its mark.
        let answers = ["$-1\r\n" + held, "$-1\r\n", "$-1\r\n$1\r\n+\r\n"].map { Data($0.utf8) }
        let proxy = try FaultyRedis(.answers(answers))
        let store = fleet(1, proxy.url())[0]
        #expect(await !store.claimFetch(of: key))
        #expect(store.faults == RedisCacheFaults())
        withExtendedLifetime(proxy) {}
    }

    @Test("a waiter does not end a newer claim than the one that it waited for") func renewed() async throws {
        let (none, first, second) = ("$-1\r\n", "$8\r\nabcdefgh\r\n", "$8\r\n12345678\r\n")
        func data(_ texts: String...) -> [Data] { texts.map { Data($0.utf8) } }
        // The first claim ends. Then another process takes the next claim, before this store can, and stores the entry.
        let proxy = try FaultyRedis(.answers(data(none + first, first, none, none + second, second, "$1\r\n+\r\n")))
        let store = fleet(1, proxy.url())[0]
        #expect(await !store.claimFetch(of: key))
        #expect(!proxy.questions.contains { $0.range(of: Data("EVAL".utf8)) != nil })
        #expect(store.claims.withLock { $0.isEmpty })
        withExtendedLifetime(proxy) {}
    }

    @Test("a wait lasts as long as each claim, but no longer than twice the first") func times() {
        func wait(_ seconds: Int...) -> (RedisClaimWait, (Int) -> ContinuousClock.Instant) {
            let start = ContinuousClock.now
            let instant = { (seconds: Int) in start.advanced(by: .seconds(seconds)) }
            var wait = RedisClaimWait(for: Data("first".utf8), lasting: .seconds(10), since: start)
            for second in seconds { wait.follow(Data("after \(second)".utf8), at: instant(second)) }
            return (wait, instant)
        }
        let (alone, at) = wait()
        #expect(alone.continues(at: at(9)) && !alone.isOverdue(at: at(9)))
        #expect(!alone.continues(at: at(10)) && alone.isOverdue(at: at(10)))
        let (followed, then) = wait(5)
        #expect(followed.holder == Data("after 5".utf8))
        #expect(followed.continues(at: then(14)) && !followed.continues(at: then(15)))
        // The request gives up, but the third claim may be running, so it is not overdue.
        let (again, late) = wait(9, 18)
        #expect(again.continues(at: late(19)) && !again.continues(at: late(20)))
        #expect(!again.isOverdue(at: late(27)) && again.isOverdue(at: late(28)))
    }

    @Test("a waiter behind successive claims waits for twice a claim's time, and ends none of them")
    func successive() async throws {
        let (none, tokens) = ("$-1\r\n", ["abcdefgh", "12345678", "ijklmnop"])
        func held(_ number: Int) -> String { "$8\r\n\(tokens[number % 3])\r\n" }
        // Each time, the claim is gone, but another process claims first.
        let takeovers = (0..<150).flatMap { [none, none + held($0)] }
        let answers = [none + held(2)] + takeovers + ["$1\r\n+\r\n"]
        let proxy = try FaultyRedis(.answers(answers.map { Data($0.utf8) }))
        var times = RedisClaimTimes.minutes
        times.claim = .seconds(1)
        let store = fleet(1, proxy.url(), times: times)[0]
        let start = ContinuousClock.now
        #expect(await store.claimFetch(of: key))
        #expect(ContinuousClock.now - start >= .seconds(2))
        // A store ends its claim with a script, so none was ended here.
        #expect(!proxy.questions.contains { $0.range(of: Data("EVAL".utf8)) != nil })
        withExtendedLifetime(proxy) {}
    }

    @Test("a claim whose reply was lost belongs to the process, and ends with its request", arguments: [1, 2])
    func lost(times: Int) async throws {
        let proxy = try FaultyRedis(server: server.socket, .delay(.zero))
        let (store, other) = (fleet(1, proxy.url())[0], fleet(1)[0])
        try await store.ping()
        // The store sends its commands twice. The second try finds the token that the first has set, or its answer is
        // lost as well.
        proxy.set(.cut(times))
        #expect(await store.claimFetch(of: key))
        #expect(await said(other)?.count == 8)
        await store.fetchEnded(of: key, stored: false)
        #expect(await said(other) == Data("-".utf8))
        withExtendedLifetime(proxy) {}
    }

    @Test("a cancelled request does not end the claim of another request in its process") func together()
        async throws
    {
        let store = fleet(1)[0]
        #expect(await store.claimFetch(of: key))
        let late = Task { await store.claimFetch(of: key) }
        late.cancel()
        #expect(await late.value)
        await store.fetchEnded(of: key, stored: false)
        #expect(await said(store)?.count == 8)
        await store.fetchEnded(of: key, stored: true)
        #expect(await said(store) == Data("+".utf8))
        #expect(store.claims.withLock { $0.isEmpty })
    }
}
