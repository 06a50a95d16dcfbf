import CurlewCore
import CurlewDiskCache
import CurlewLocks
import StoreSupport
import Testing

@Suite("Entries that are replaced while they are looked up")
struct DiskCacheReplacementTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// A lookup first reads the rows and then opens their files. In between, another store may replace an entry and
    /// remove its file.
    @Test("an entry whose file goes after its row was read is no damage", arguments: [1, 2])
    func replacedMeanwhile(variants: Int) async throws {
        let (writing, reading) = (try folder.open(), try folder.open())
        let key = entry("a").key
        let isWriting = Lock(true)
        async let stored = {
            defer { isWriting.withLock { $0 = false } }
            var stored = 0
            for round in 0..<1_000 {
                let entry = entry("a", variant: "v\(round % variants)")
                if await writing.put(entry, bytes(20_000)) { stored += 1 }
            }
            return stored
        }()
        var read = 0
        while isWriting.withLock({ $0 }) {
            for found in await reading.entries(for: key) {
                guard let body = try await found.body.whole() else { continue }
                #expect(body == bytes(20_000))
                read += 1
            }
        }
        #expect(await stored == 1_000)
        #expect(read > 0)
        #expect(await reading.entries(for: key).count == variants)
        // The update runs after the work that the last misses have queued.
        await reading.update(entry("a"))
        #expect(reading.faults == DiskCacheFaults())
    }
}
