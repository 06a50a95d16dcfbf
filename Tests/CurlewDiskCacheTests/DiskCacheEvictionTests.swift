import CurlewCore
import CurlewDiskCache
import CurlewLocks
import Foundation
import StoreSupport
import Testing

@Suite("Room in a disk cache")
struct DiskCacheEvictionTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test("the bound holds, for the entries and for the files")
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

    @Test("the entry that was not used for longest goes first")
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

    @Test("a later store knows what was used in this one") func usesAreKept() async throws {
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

    @Test("an entry that is of no use any more goes before one that was used earlier")
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

    @Test("a clock that goes back does not make new entries the first to go", arguments: [true, false])
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
