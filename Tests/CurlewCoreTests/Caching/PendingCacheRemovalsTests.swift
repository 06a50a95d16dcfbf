import CurlewCore
import Foundation
import Testing

@Suite("Pending cache removals")
struct PendingCacheRemovalsTests {
    @Test("beyond the maximum, pending removals are replaced by a removal of everything") func bound() {
        var pending = PendingCacheRemovals()
        let key = CacheKey(url: "http://store.test/a")
        for number in 0..<PendingCacheRemovals.maximumCount { pending.add(.url("http://other.test/\(number)")) }
        #expect(pending.cover(CacheKey(url: "http://other.test/7")) && !pending.cover(key))
        pending.add(.url("http://other.test/7"))
        #expect(!pending.cover(key))
        pending.add(.url("http://other.test/more"))
        #expect(pending.cover(key) && pending.numbers.count == 1)
        pending.add(.url("http://other.test/again"))
        #expect(pending.numbers.count == 1)
    }

    @Test("an attempt that began before its removal failed again does not finish the removal") func again() throws {
        for removal in [CacheRemoval.url("http://store.test/a"), .everything] {
            var pending = PendingCacheRemovals()
            pending.add(removal)
            let number = try #require(pending.numbers[removal])
            pending.add(removal)
            pending.finish(removal, number: number)
            #expect(pending.cover(CacheKey(url: "http://store.test/a")))
            pending.finish(removal, number: try #require(pending.numbers[removal]))
            #expect(pending.isEmpty)
        }
    }

    @Test("only one task at a time retries the removals") func retry() {
        var pending = PendingCacheRemovals()
        #expect(pending.beginRetry().isEmpty)
        pending.add(.url("http://store.test/a"))
        #expect(pending.beginRetry().count == 1)
        #expect(pending.beginRetry().isEmpty)
        pending.endRetry()
        #expect(pending.beginRetry().count == 1)
    }
}

@Suite("Failed removals of a store")
struct FailedRemovalsTests {
    private let key = CacheKey(url: "http://store.test/a")

    private func entry(_ id: String) -> StoredEntry {
        let response = StoredResponse(
            head: ResponseHead(status: 200), requestTime: .distantPast, responseTime: .distantPast)
        let lifetime = CacheLifetime(freshUntil: .distantFuture, usableUntil: .distantFuture, canBeValidated: true)
        let entry = CacheEntry(id: id, key: key, response: response, lifetime: lifetime)
        return StoredEntry(entry: entry, body: DataCacheBody(Data()))
    }

    private func found(_ removals: FailedRemovals, during lookUp: () async -> Void = {}) async -> [String] {
        let entries = [entry("1"), entry("2")]
        let found = await removals.entries(
            for: key,
            startRetry: {},
            lookUp: { _ in
                await lookUp()
                return entries
            }
        )
        return found.map(\.entry.id)
    }

    @Test("a lookup omits entries whose removal failed before or during the lookup") func lookup() async {
        let removals = FailedRemovals()
        #expect(await found(removals) == ["1", "2"])
        await removals.add(CacheRemoval(entry("1").entry))
        #expect(await found(removals) == ["2"])
        #expect(await found(removals) { await removals.add(CacheRemoval(entry("2").entry)) } == [])
        // A retry that succeeds during the lookup may have been too late for the result of the lookup.
        #expect(await found(removals) { await removals.retry { _ in true } } == [])
        #expect(await found(removals) == ["1", "2"])
    }

    @Test("a lookup starts a retry only if a removal is pending") func retryStarts() async {
        let removals = FailedRemovals()
        var starts = 0
        _ = await removals.entries(for: key, startRetry: { starts += 1 }, lookUp: { _ in [] })
        #expect(starts == 0)
        await removals.add(.url(key.url))
        _ = await removals.entries(for: key, startRetry: { starts += 1 }, lookUp: { _ in [] })
        #expect(starts == 1)
    }

    @Test("an entry is stored only after the removal that covers its key has succeeded") func storing() async {
        let removals = FailedRemovals()
        await removals.add(.url(key.url))
        #expect(await !removals.mayStore(key) { await removals.retry { _ in false } })
        #expect(await removals.mayStore(key) { await removals.retry { _ in true } })
        #expect(await removals.mayStore(key) { Issue.record("nothing is left to repeat") })
    }

    @Test("a retry ends with the first failure, and only one runs at a time") func retry() async {
        let removals = FailedRemovals()
        await removals.add(.url("http://store.test/a"))
        await removals.add(.url("http://store.test/b"))
        var attempts = 0
        await removals.retry { _ in
            attempts += 1
            await removals.retry { _ in
                Issue.record("another repetition ran")
                return true
            }
            return false
        }
        #expect(attempts == 1)
        await removals.retry { _ in
            attempts += 1
            return true
        }
        #expect(attempts == 3)
        #expect(await removals.pending.isEmpty)
    }
}
