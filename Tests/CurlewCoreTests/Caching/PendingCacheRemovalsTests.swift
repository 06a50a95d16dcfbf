import CurlewCore
import Testing

@Suite("removals that have failed")
struct PendingCacheRemovalsTests {
    @Test("more removals than are remembered are the removal of everything") func bound() {
        var pending = PendingCacheRemovals()
        let key = CacheKey(url: "http://store.test/a")
        for number in 0..<PendingCacheRemovals.most { pending.add(.url("http://other.test/\(number)")) }
        #expect(pending.cover(CacheKey(url: "http://other.test/7")) && !pending.cover(key))
        pending.add(.url("http://other.test/7"))
        #expect(!pending.cover(key))
        pending.add(.url("http://other.test/more"))
        #expect(pending.cover(key) && pending.numbers.count == 1)
        pending.add(.url("http://other.test/again"))
        #expect(pending.numbers.count == 1)
    }

    @Test("an attempt from before a removal failed again has not done it") func again() throws {
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

    @Test("one task at a time tries them again") func retry() {
        var pending = PendingCacheRemovals()
        #expect(pending.beginRetry().isEmpty)
        pending.add(.url("http://store.test/a"))
        #expect(pending.beginRetry().count == 1)
        #expect(pending.beginRetry().isEmpty)
        pending.endRetry()
        #expect(pending.beginRetry().count == 1)
    }
}
