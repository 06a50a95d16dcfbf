import CSQLite
import CurlewCore
import CurlewDiskCache
import Foundation
import StoreSupport
import Testing

@Suite("Entries in the index that were changed")
struct DiskCacheChangedEntryTests {
    private let folder: TestFolder
    private let body = bytes(100)

    init() throws { folder = try TestFolder() }

    /// Replaces the encoded entry in the index without the store.
    private func replaceEntry(with data: Data) throws {
        var opened: OpaquePointer?
        try #require(sqlite3_open(folder.index.path(percentEncoded: false), &opened) == SQLITE_OK)
        let database = try #require(opened)
        defer { sqlite3_close(database) }
        sqlite3_busy_timeout(database, 10_000)
        let digits = data.map { String(format: "%02x", $0) }.joined()
        try #require(sqlite3_exec(database, "UPDATE entries SET entry = X'\(digits)'", nil, nil, nil) == SQLITE_OK)
    }

    /// Whether the entry is a miss and is counted as damaged, once `change` has replaced its bytes.
    private func isMiss(_ store: DiskCacheStore, _ change: (Data) -> Data) async throws -> Bool {
        let stored = entry("a", headers: ["ETag": "\"e\""])
        #expect(await store.put(stored, body))
        let before = store.faults.damagedEntries
        try replaceEntry(with: change(stored.encoded))
        guard await store.entries(for: stored.key).isEmpty else { return false }
        // The update runs after the work that the miss has queued.
        await store.update(stored)
        return store.faults.damagedEntries == before + 1 && store.faults.rebuiltIndexes == 0
    }

    @Test("every changed byte, and every cut, makes an entry a miss") func changed() async throws {
        let store = try folder.open()
        let length = entry("a", headers: ["ETag": "\"e\""]).encoded.count
        for index in 0..<length {
            let isMiss = try await isMiss(store) { data in
                var data = data
                data[index] ^= 1 << (index % 8)
                return data
            }
            #expect(isMiss, "byte \(index)")
            #expect(try await self.isMiss(store) { $0.prefix(index) }, "cut to \(index)")
        }
        // The unchanged entry is found.
        #expect(try await !isMiss(store) { $0 })
    }
}
