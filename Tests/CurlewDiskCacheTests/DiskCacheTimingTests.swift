import CSQLite
import CurlewCore
import CurlewDiskCache
import Foundation
import StoreSupport
import Testing

@Suite("Times of a disk cache", .serialized)
struct DiskCacheTimingTests {
    private static let factor = Double(ProcessInfo.processInfo.environment["CURLEW_TIME_FACTOR"] ?? "") ?? 1

    @Test("a directory of 100,000 entries is opened within 50 ms")
    func opening() async throws {
        let folder = try TestFolder()
        var store: DiskCacheStore? = try folder.open()
        let (stored, body) = (entry("a"), bytes(1000))
        await store?.put(stored, body)
        store = nil
        // Inserts the rows directly, which is faster than storing the entries.
        var database: OpaquePointer?
        #expect(sqlite3_open(folder.index.path(percentEncoded: false), &database) == SQLITE_OK)
        // The lanes of the released store may still be writing.
        sqlite3_busy_timeout(database, 30_000)
        let rows = """
            BEGIN;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
            INSERT INTO entries SELECT NULL, randomblob(16), i % 50, random(), random(), 0, i, i, i % 2, 3000, 2000, 0, 0, 0,
                randomblob(600) FROM n;
            INSERT OR IGNORE INTO bodies SELECT number, randomblob(2000) FROM entries;
            COMMIT;
            """
        #expect(sqlite3_exec(database, rows, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(database)
        let clock = ContinuousClock()
        var times: [Duration] = []
        for _ in 0..<5 {
            let start = clock.now
            let store = try folder.open()
            times.append(clock.now - start)
            #expect(try await store.body(stored.key) == body)
        }
        let median = times.sorted()[2]
        print("opening 100,000 entries: \(median)")
        #expect(median < .milliseconds(50) * Self.factor)
    }
}
