import CurlewCore
import CurlewDiskCache
import CurlewLocks
import Foundation
import StoreSupport
import Testing

@Suite("Eviction in a disk cache")
struct DiskCacheEvictionTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test("the maximum size limits the entries, and the files up to a margin")
    func bound() async throws {
        let store = try folder.open(maximumSize: 4 << 20)
        for number in 0..<120 {
            await store.put(entry("\(number)"), bytes(number % 4 == 0 ? 500_000 : 12_000, seed: UInt64(number)))
            #expect(await store.size() <= 4 << 20)
        }
        #expect(await store.size() > 2 << 20)
        // SQLite's write-ahead log and its trees add to the size of the entries.
        #expect(try await eventually { try folder.sizeOnDisk() <= 6 << 20 })
    }

    @Test("the least recently used entry is evicted first")
    func leastRecentlyUsed() async throws {
        let store = try folder.open(maximumSize: 2 << 20)
        let entries = ["a", "b", "c"].map { entry($0, canBeValidated: true) }
        for entry in entries { #expect(await store.put(entry, bytes(600_000))) }
        #expect(try await store.body(entries[0].key) != nil)
        #expect(await store.put(entry("d", canBeValidated: true), bytes(600_000)))
        #expect(try await store.body(entries[0].key) != nil)
        #expect(try await store.body(entries[1].key) == nil)
        #expect(try await store.body(entries[2].key) != nil)
    }

    @Test("uses in one store decide which entry a later store evicts") func usesAreKept() async throws {
        var store: DiskCacheStore? = try folder.open(maximumSize: 2 << 20)
        let entries = ["a", "b", "c"].map { entry($0, canBeValidated: true) }
        for entry in entries { await store?.put(entry, bytes(600_000)) }
        #expect(try await store?.body(entries[0].key) != nil)
        store = nil
        // The last connection closes once its lane has written the uses.
        #expect(try await eventually { try folder.openFiles() == 0 })
        let later = try folder.open(maximumSize: 2 << 20)
        #expect(await later.put(entry("d", canBeValidated: true), bytes(600_000)))
        #expect(try await later.body(entries[0].key) != nil)
        #expect(try await later.body(entries[1].key) == nil)
    }

    @Test("an expired entry that cannot be validated is evicted before a less recently used one")
    func lifetime() async throws {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        let store = try folder.open(maximumSize: 2 << 20) { now }
        let (old, over, stale) = (
            entry("old"), entry("over", usable: -10), entry("stale", usable: -10, canBeValidated: true)
        )
        for entry in [old, over, stale] { #expect(await store.put(entry, bytes(600_000))) }
        #expect(try await store.body(over.key) != nil)
        #expect(await store.put(entry("new"), bytes(600_000)))
        #expect(try await store.body(over.key) == nil)
        #expect(try await store.body(old.key) != nil)
        #expect(try await store.body(stale.key) != nil)
    }

    @Test("after the clock was set back, old entries are still evicted before new ones", arguments: [true, false])
    func clock(isReopened: Bool) async throws {
        let time = Lock(Date(timeIntervalSince1970: 2_000_000_000))
        let now: @Sendable () -> Date = { time.withLock { $0 } }
        var store = try folder.open(maximumSize: 2 << 20, now: now)
        await store.put(entry("old"), bytes(600_000))
        time.withLock { $0 = Date(timeIntervalSince1970: 1_000_000_000) }
        if isReopened { store = try folder.open(maximumSize: 2 << 20, now: now) }
        for name in ["a", "b", "c"] { #expect(await store.put(entry(name, canBeValidated: true), bytes(600_000))) }
        #expect(try await store.body(entry("old").key) == nil)
        for name in ["a", "b", "c"] { #expect(try await store.body(entry(name).key) != nil) }
    }
}

@Suite("Variants in a disk cache")
struct DiskCacheVariantTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func variant(_ number: Int) -> CacheEntry { entry("a", variant: "v\(number)", canBeValidated: true) }

    @Test(
        "a key keeps at most sixteen variants, and the least recently used one is evicted", arguments: [100, 300_000])
    func bound(size: Int) async throws {
        let store = try folder.open()
        let variants = (0..<17).map(variant)
        for variant in variants.dropLast() { #expect(await store.put(variant, bytes(size))) }
        let others = [entry("a", partition: "p", variant: "v"), entry("b", variant: "v")]
        for other in others { #expect(await store.put(other, bytes(10))) }
        let first = try #require(await store.entries(for: variants[0].key).first { $0.entry == variants[0] })
        #expect(try await first.body.whole() == bytes(size))
        #expect(await store.put(variants[16], bytes(size)))
        let kept = Set(await store.entries(for: variants[0].key).map(\.entry.variant))
        #expect(kept == Set(variants.map(\.variant)).subtracting(["v1"]))
        // The limit counts the variants of each key, so entries of other keys stay.
        for other in others { #expect(await store.entries(for: other.key).count == 1) }
        // The body of an evicted entry is removed.
        #expect(try await eventually { try folder.bodyNames().count == (size > 16_384 ? 16 : 0) })
    }

    @Test("a new response of a variant evicts no other variant") func replacing() async throws {
        let store = try folder.open()
        for number in 0..<16 { #expect(await store.put(variant(number), bytes(10))) }
        for _ in 0..<3 { #expect(await store.put(variant(7), bytes(10))) }
        #expect(await store.entries(for: variant(0).key).count == 16)
    }

    @Test("a lookup of several variants opens no body until one is read") func opening() async throws {
        let store = try folder.open()
        for number in 0..<8 { #expect(await store.put(variant(number), bytes(300_000, seed: UInt64(number)))) }
        #expect(try await eventually { try folder.openBodies() == 0 })
        let found = await store.entries(for: variant(0).key)
        #expect(found.count == 8)
        #expect(try folder.openBodies() == 0)
        let third = try #require(found.first { $0.entry.variant == "v3" })
        let reader = try #require(await third.body.reader(of: 0..<300_000))
        #expect(try folder.openBodies() == 1)
        var read = Data()
        while let chunk = try await reader.next() { read.append(chunk) }
        #expect(read == bytes(300_000, seed: 3))
    }

    @Test("a variant that is replaced before its body is read is a miss and not counted as damaged")
    func replacedBefore()
        async throws
    {
        let store = try folder.open()
        for number in 0..<2 { #expect(await store.put(variant(number), bytes(300_000))) }
        let found = try #require(await store.entries(for: variant(0).key).first { $0.entry.variant == "v0" })
        #expect(await store.put(variant(0), bytes(300_000, seed: 2)))
        #expect(try await eventually { try folder.bodyNames().count == 2 })
        #expect(await found.body.reader(of: 0..<300_000) == nil)
        #expect(await store.entries(for: variant(0).key).count == 2)
        // The update runs after the work that the miss has queued.
        await store.update(found.entry)
        #expect(store.faults == DiskCacheFaults())
    }

    @Test("a variant whose file is missing is a miss and is removed, and the others stay") func missing() async throws {
        let store = try folder.open()
        let variants = (0..<3).map(variant)
        for variant in variants { #expect(await store.put(variant, bytes(300_000))) }
        try FileManager.default.removeItem(at: folder.bodies.appending(path: variants[1].id))
        #expect(Set(await store.entries(for: variants[0].key).map(\.entry.variant)) == ["v0", "v2"])
        #expect(try await eventually { store.faults.damagedEntries == 1 })
    }
}
