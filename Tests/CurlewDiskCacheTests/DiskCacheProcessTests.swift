import CurlewCore
import CurlewDiskCache
import Foundation
import Glibc
import StoreProbe
import StoreSupport
import Testing

@Suite("A disk cache and other processes", .serialized)
struct DiskCacheProcessTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private var path: String { folder.cache.path(percentEncoded: false) }

    @Test("a process that is killed while it stores leaves whole entries and no orphaned files")
    func kill() async throws {
        let keys = 50
        var committed: Set<Int> = []
        // Knows rows from earlier rounds. Must not find those of a change in whose middle the child was killed.
        let lasting = try folder.open()
        // Kills the child at 14 moments, after more than 1,000 entries in all. With a sanitizer the child is about
        // twenty times slower, so there are fewer moments.
        let isSanitized = (ProcessInfo.processInfo.environment["CURLEW_SANITIZER"] ?? "plain") != "plain"
        let moments = isSanitized ? [1, 5, 11, 20] : [1, 2, 5, 11, 20, 37, 60, 80, 100, 120, 140, 150, 160, 170]
        for (round, lines) in moments.enumerated() {
            let probe = try Probe("put", path, "\(keys)", "kill")
            committed.formUnion(await probe.lines(lines).map { $0 % keys })
            await probe.kill()
            let store = try folder.open()
            var (found, files) = (0, 0)
            for key in 0..<keys {
                let stored = await store.entries(for: Sample(key: key, size: 0, tag: "").entry.key)
                #expect(stored.count <= 1)
                let known = await lasting.entries(for: Sample(key: key, size: 0, tag: "").entry.key)
                #expect(known.map(\.entry) == stored.map(\.entry))
                guard let stored = stored.first else { continue }
                found += 1
                if stored.body.size > 16_384 { files += 1 }
                let body = try #require(try await stored.body.whole())
                #expect(Sample.isRight(body, key: key, tag: "kill"), "round \(round), key \(key)")
            }
            #expect(found >= committed.count)
            #expect(store.faults == DiskCacheFaults() && lasting.faults == DiskCacheFaults())
            #expect(try await eventually { try folder.bodyNames().count == files })
        }
    }

    @Test("a reader finds whole entries while two other processes write the same keys")
    func twoWriters() async throws {
        let (one, two) = (try Probe("put", path, "2", "a"), try Probe("put", path, "2", "b"))
        _ = (await one.lines(1), await two.lines(1))
        let store = try folder.open()
        var seen: Set<String> = []
        for round in 0..<300 {
            let key = round % 2
            let stored = await store.entries(for: Sample(key: key, size: 0, tag: "").entry.key)
            #expect(stored.count <= 1)
            guard let stored = stored.first, let body = try await stored.body.whole() else { continue }
            let tag = stored.entry.response.head.headers["X-Tag"] ?? ""
            seen.insert(tag)
            #expect(Sample.isRight(body, key: key, tag: tag))
        }
        #expect(!seen.isEmpty)
        #expect(store.faults.damagedEntries == 0 && store.faults.rebuiltIndexes == 0)
        await one.kill()
        await two.kill()
    }

    @Test("a process that finds a damaged index reports it on standard error and keeps working")
    func complaint() async throws {
        let maker = try Probe("put", path, "1", "a")
        _ = await maker.lines(1)
        await maker.kill()
        try bytes(50_000).write(to: folder.index)
        let probe = try Probe("put", path, "1", "a")
        #expect(await !probe.lines(1).isEmpty)
        await probe.kill()
        let complaints = await probe.complaints()
        #expect(complaints.contains("the cache index in "))
        #expect(complaints.contains("has been made anew"))
        #expect(try await folder.open().body(Sample(key: 0, size: 0, tag: "").entry.key) != nil)
        let quiet = try Probe("put", path, "1", "a")
        _ = await quiet.lines(1)
        await quiet.kill()
        #expect(await quiet.complaints().isEmpty)
    }

    @Test("a collection keeps a file that another store is still writing")
    func collection() async throws {
        let first = try folder.open()
        let stored = entry("a")
        let body = bytes(600_000)
        let writer = try #require(await first.writer(for: stored, expectedSize: nil))
        #expect(await writer.write(body))
        try Data("orphan".utf8).write(to: folder.bodies.appending(path: String(repeating: "0", count: 32)))
        let second = try folder.open()
        #expect(try await eventually { try folder.bodyNames() == [stored.id] })
        #expect(await writer.commit())
        #expect(try await second.body(stored.key) == body)
    }

    @Test("a directory that cannot be written is an error")
    func readOnly() async throws {
        try FileManager.default.createDirectory(at: folder.cache, withIntermediateDirectories: true)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: folder.url.path(percentEncoded: false))
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: path)
        // The directory belongs to the user as whom the probe runs. A store refuses another user's for that reason.
        if getuid() == 0 { #expect(chown(path, 65534, 65534) == 0) }
        #expect(try await Probe("open", path).result() == "moveFailed \(EACCES)")
    }

    @Test("a body that cannot be opened for lack of descriptors is a miss and is kept")
    func noDescriptors() async throws {
        // The values: no entry, no damage, one failed read, and the body found afterwards.
        #expect(try await Probe("descriptors", path).result() == "0 0 1 there")
    }

    @Test(
        "under a limit on file sizes entries may be missing, and none is wrong", arguments: [60_000, 200_000, 500_000])
    func limitedFiles(bytes: Int) async throws {
        let words = try await Probe("limited", path, "\(bytes)").result().split(separator: " ").compactMap { Int($0) }
        try #require(words.count == 2)
        #expect(words[0] < 40 && words[1] > 0)
        let store = try folder.open()
        var found = 0
        for key in 0..<40 {
            guard let body = try await store.body(Sample(key: key, size: 0, tag: "").entry.key) else { continue }
            found += 1
            #expect(Sample.isRight(body, key: key, tag: "limited"))
        }
        #expect(found == words[0])
        #expect(await Sample(key: 1, size: 600_000, tag: "limited").store(in: store))
    }

    @Test(
        "on a full disk entries may be missing, and none is wrong", .enabled(if: getuid() == 0, "mounting needs root"))
    func fullDisk() async throws {
        guard try folder.mountSmallDisk() else { return }
        defer { folder.unmountSmallDisk() }
        let store = try folder.open()
        var stored: [Int: Sample] = [:]
        for key in 0..<60 {
            let sample = Sample(key: key, size: key % 2 == 0 ? 12_000 : 200_000, tag: "full")
            if await sample.store(in: store) { stored[key] = sample }
        }
        #expect(stored.count > 5 && stored.count < 60)
        #expect(store.faults.failedWrites > 0)
        for store in [store, try folder.open()] {
            for key in 0..<60 {
                #expect(try await store.body(Sample(key: key, size: 0, tag: "").entry.key) == stored[key]?.body)
            }
        }
        // Clearing the cache frees space on the disk.
        await store.removeAll()
        #expect(try await eventually { await Sample(key: 1, size: 200_000, tag: "full").store(in: store) })
    }
}
