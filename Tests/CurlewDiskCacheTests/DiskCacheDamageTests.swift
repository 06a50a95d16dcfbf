import CurlewCore
import Foundation
import Glibc
import StoreProbe
import StoreSupport
import Testing
@testable import CurlewDiskCache

@Suite("Damage in a disk cache")
struct DiskCacheDamageTests {
    private let folder: TestFolder
    private let contents: [(CacheEntry, Data)]

    init() async throws {
        folder = try TestFolder()
        contents = (0..<30).map { number in
            (entry("\(number)", variant: number % 5 == 0 ? "v" : ""), bytes(number * 400, seed: UInt64(number)))
        }
        var store: DiskCacheStore? = try folder.open()
        for (entry, body) in contents { await store?.put(entry, body) }
        store = nil
        try await untilClosed()
    }

    /// Waits until the previous store has closed its files. At its end a store writes the last uses, which would repair
    /// damage that is done before.
    private func untilClosed() async throws {
        #expect(try await eventually { try folder.openFiles() == 0 })
    }

    /// Expects that every key is a miss or has its right body, and that the store stores a new entry.
    private func expectHarmless(_ comment: Comment) async throws -> (found: Int, faults: DiskCacheFaults) {
        let store = try folder.open()
        var found = 0
        for (entry, body) in contents {
            for stored in await store.entries(for: entry.key) {
                #expect(stored.entry == entry, comment)
                guard let read = try await stored.body.whole() else { continue }
                #expect(read == body, comment)
                found += 1
            }
        }
        let fresh = entry("fresh")
        var isThere = false
        // Some damage is found only by a change, which then fails. A later change succeeds.
        for _ in 0..<3 where !isThere {
            await store.put(fresh, bytes(5000))
            isThere = try await store.body(fresh.key) == bytes(5000)
        }
        #expect(isThere, comment)
        return (found, store.faults)
    }

    private func damage(_ url: URL, _ change: (inout Data) -> Void) throws {
        var data = try Data(contentsOf: url)
        change(&data)
        try data.write(to: url)
    }

    @Test("changed bytes in any region of the index cause misses but no wrong body")
    func flippedIndex() async throws {
        let whole = try Data(contentsOf: folder.index)
        var (rebuilt, damaged) = (0, 0)
        let starts = Array(stride(from: 0, to: 100, by: 4)) + Array(stride(from: 100, to: whole.count, by: 1021))
        for start in starts {
            try damage(folder.index) { data in
                data = whole
                for offset in start..<min(start + 8, data.count) { data[offset] ^= 0xA5 }
            }
            let faults = try await expectHarmless("flipped at \(start)").faults
            rebuilt += faults.rebuiltIndexes
            damaged += faults.damagedEntries
        }
        #expect(rebuilt > 0 && damaged > 0)
    }

    @Test("an index that is cut off anywhere causes misses but no wrong body")
    func truncatedIndex() async throws {
        let whole = try Data(contentsOf: folder.index)
        for length in stride(from: 0, to: whole.count, by: 2048) {
            try damage(folder.index) { $0 = whole.prefix(length) }
            _ = try await expectHarmless("cut to \(length)")
        }
    }

    @Test("an index file with other content is rebuilt and counted as a fault")
    func foreignIndex() async throws {
        for content in [Data("no database at all, but long enough for its first line".utf8), bytes(70_000)] {
            try damage(folder.index) { $0 = content }
            let result = try await expectHarmless("foreign")
            #expect(result.found == 0)
            #expect(result.faults.rebuiltIndexes == 1)
            try await untilClosed()
        }
    }

    @Test("an index of another version is replaced after a wait for another process's transaction")
    func foreignIndexInUse() async throws {
        let other = try Database(path: folder.index.path(percentEncoded: false), patience: .seconds(5))
        try other.execute("PRAGMA user_version = 99; BEGIN IMMEDIATE;")
        let start = ContinuousClock.now
        let store = try folder.open(lockPatience: .milliseconds(300))
        // The change never ends, so the store waits for it as long as a statement may take.
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        #expect(store.faults.rebuiltIndexes == 1)
        #expect(await store.put(contents[1].0, contents[1].1))
        withExtendedLifetime(other) {}
    }

    @Test("an index that is removed while stores have it open is rebuilt for all of them")
    func damageWhileOpen() async throws {
        let (one, two) = (try folder.open(), try folder.open())
        #expect(await one.entries(for: contents[1].0.key).count == 1)
        #expect(await two.entries(for: contents[1].0.key).count == 1)
        try FileManager.default.removeItem(at: folder.index)
        #expect(await one.put(contents[1].0, contents[1].1))
        #expect(try await two.body(contents[1].0.key) == contents[1].1)
        // The update runs after the work that the new opening has queued.
        await two.update(entry("none"))
        try FileManager.default.removeItem(at: folder.cache)
        #expect(await two.entries(for: contents[1].0.key).isEmpty)
        #expect(await two.put(contents[2].0, contents[2].1))
        #expect(try await one.body(contents[2].0.key) == contents[2].1)
    }

    @Test("a body that is damaged in its first MiB is a miss and is removed")
    func damagedBody() async throws {
        let body = bytes(900_000)
        for offset in stride(from: 0, to: body.count, by: 36_000) {
            // Each round uses another name, because the file of the previous entry is removed after its row.
            let (stored, store) = (entry("large\(offset)"), try folder.open())
            #expect(await store.put(stored, body))
            let file = folder.bodies.appending(path: stored.id)
            var data = body
            data[offset] ^= 1
            try data.write(to: file)
            #expect(try await store.body(stored.key) == nil)
            // The update runs after the work that the miss has queued.
            await store.update(stored)
            #expect(store.faults.damagedEntries == 1)
            #expect(try await eventually { await store.entries(for: stored.key).isEmpty })
        }
    }

    @Test("damage that several readers find is counted once") func damagedForSeveral() async throws {
        let (stored, body) = (entry("large"), bytes(900_000))
        let store = try folder.open()
        #expect(await store.put(stored, body))
        var found: [StoredEntry] = []
        for _ in 0..<3 { found += await store.entries(for: stored.key) }
        var data = body
        data[0] ^= 1
        try data.write(to: folder.bodies.appending(path: stored.id))
        try #require(found.count == 3)
        for found in found { #expect(await found.body.reader(of: 0..<900_000) == nil) }
        // The update runs after the work that the misses have queued.
        await store.update(stored)
        #expect(store.faults.damagedEntries == 1)
        #expect(await store.entries(for: stored.key).isEmpty)
    }

    @Test(
        "a body that is damaged after its first MiB throws before a wrong byte is delivered",
        arguments: [1_048_576, 2_999_999])
    func damagedLater(offset: Int) async throws {
        let (stored, body) = (entry("large"), bytes(3_000_000))
        let store = try folder.open()
        await store.put(stored, body)
        var data = body
        data[offset] ^= 1
        try data.write(to: folder.bodies.appending(path: stored.id))
        let found = try #require(await store.entries(for: stored.key).first)
        let reader = try #require(await found.body.reader(of: 0..<3_000_000))
        var read = Data()
        await #expect(throws: CurlewError.self) { while let chunk = try await reader.next() { read.append(chunk) } }
        #expect(read.count >= 1_048_576 && read == body.prefix(read.count))
        #expect(try await eventually { await store.entries(for: stored.key).isEmpty })
    }

    @Test(
        "a body that is missing or has another length is a miss, and is removed", arguments: [nil, 0, 899_999, 900_001])
    func missingBody(length: Int?) async throws {
        let (stored, body) = (entry("large"), bytes(900_000))
        let store = try folder.open()
        await store.put(stored, body)
        let file = folder.bodies.appending(path: stored.id)
        try FileManager.default.removeItem(at: file)
        if let length { try bytes(length).write(to: file) }
        #expect(await store.entries(for: stored.key).isEmpty)
        #expect(try await eventually { store.faults.damagedEntries == 1 })
        #expect(try await eventually { await store.size() < 900_000 })
    }
}

/// Another program truncates files while stores have them open. If a file were mapped, SIGBUS would end the process,
/// either a probe or that of the tests.
@Suite("Files of a disk cache that are truncated while it is open", .serialized)
struct DiskCacheTruncationTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private var path: String { folder.cache.path(percentEncoded: false) }

    @Test(
        "after a truncation entries may be missing, none is wrong, and the store works again",
        arguments: ["index.sqlite", "index.sqlite-journal", "lock", "bodies/", ""])
    func truncated(name: String) async throws {
        #expect(try await Probe("truncated", path, name).result() == "0 0")
    }

    @Test(
        "stores of several processes keep working while their files are truncated",
        .timeLimit(.minutes(4)))
    func inUse() async throws {
        let probes = [try Probe("put", path, "8", "a"), try Probe("put", path, "8", "b")]
        for probe in probes { _ = await probe.lines(1) }
        let store = try folder.open()
        let stores = { (key: Int) in await store.entries(for: Sample(key: key, size: 0, tag: "").entry.key).first }
        let tag = { (stored: StoredEntry?) in stored?.entry.response.head.headers["X-Tag"] ?? "" }
        for round in 0..<60 {
            var names = (FileManager.default.subpaths(atPath: path) ?? []).sorted()
            if round % 2 == 0 { names.removeAll { !$0.hasPrefix("index.sqlite") } }
            // Truncates another file in each round.
            if !names.isEmpty { truncate(path + "/" + names[round / 2 % names.count], 0) }
            #expect(await !probes[round % 2].lines(1).isEmpty)
            for key in 0..<8 {
                guard let stored = await stores(key), let body = try? await stored.body.whole() else { continue }
                #expect(Sample.isRight(body, key: key, tag: tag(stored)))
            }
        }
        await store.removeAll()
        var found: Set<String> = []
        #expect(
            try await eventually {
                for key in 0..<8 { found.insert(tag(await stores(key))) }
                return found.isSuperset(of: ["a", "b"])
            })
        for probe in probes { await probe.kill() }
    }
}
