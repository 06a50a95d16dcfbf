import CSQLite
import CurlewCore
import CurlewDiskCache
import Foundation
import StoreSupport
import Testing

@Suite("A disk cache")
struct DiskCacheStoreTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    // An empty body, bodies inside the index, at and above the limit for those, and around whole pieces of a file.
    @Test(
        "a stored body is read back unchanged, also by a later store",
        arguments: [0, 1, 4096, 16_384, 16_385, 262_143, 262_144, 262_145, 1_048_576, 1_500_000]
    )
    func roundTrip(size: Int) async throws {
        let (stored, body) = (entry("a"), bytes(size))
        for chunk in [size + 1, 10_007] {
            let store = try folder.open()
            #expect(await store.put(stored, body, chunk: chunk))
            for store in [store, try folder.open()] {
                let found = try #require(await store.entries(for: stored.key).first)
                #expect(found.entry == stored)
                #expect(found.body.size == size)
                #expect(try await found.body.whole() == body)
            }
            await store.removeAll()
        }
    }

    @Test(
        "a body may be shorter or longer than expected",
        arguments: [
            (1_200_000, 3_000_000), (3_000_000, 1_200_000), (300_000, 262_145), (100, 400_000),
            (20_000_000, 20_000_000),
        ]
    )
    func expectedSize(size: Int, expected: Int64) async throws {
        let (stored, body) = (entry("a"), bytes(size))
        let store = try folder.open()
        let writer = try #require(await store.writer(for: stored, expectedSize: expected))
        for start in stride(from: 0, to: size, by: 1 << 20) {
            #expect(await writer.write(body[start..<min(start + 1 << 20, size)]))
        }
        #expect(await writer.commit())
        #expect(try await store.body(stored.key) == body)
        #expect(store.faults == DiskCacheFaults())
    }

    @Test("concurrent lookups each find their own entry")
    func lookupsTogether() async throws {
        let store = try folder.open()
        let entries = (0..<40).map { entry("a\($0)") }
        for (number, entry) in entries.enumerated() {
            await store.put(entry, bytes(100 + number, seed: UInt64(number)))
        }
        await withTaskGroup(of: Void.self) { group in
            for turn in 0..<20 {
                for (number, stored) in entries.enumerated() {
                    group.addTask {
                        let found = await store.entries(for: stored.key)
                        #expect(found.map(\.entry) == [stored])
                        #expect(found.first?.body.size == Int64(100 + number))
                    }
                }
                group.addTask { #expect(await store.entries(for: entry("none\(turn)").key).isEmpty) }
                // A committed entry is found, although other lookups run at that time.
                group.addTask {
                    let stored = entry("new\(turn)")
                    #expect(await store.put(stored, bytes(10)))
                    #expect(await store.entries(for: stored.key).map(\.entry) == [stored])
                }
            }
        }
        #expect(store.faults == DiskCacheFaults())
    }

    @Test("a range of a body has exactly its bytes", arguments: [1000, 1_200_000])
    func ranges(size: Int64) async throws {
        let (stored, body) = (entry("a"), bytes(Int(size)))
        let store = try folder.open()
        await store.put(stored, body)
        let found = try #require(await store.entries(for: stored.key).first)
        let edges: [Int64] = [0, 1, 500, 262_143, 262_144, 262_145, 1_048_575, 1_048_577, size - 1, size].filter {
            $0 <= size
        }
        for start in edges {
            for end in edges where start <= end {
                #expect(try await found.body.whole(start..<end) == body[Int(start)..<Int(end)])
            }
        }
        #expect(await found.body.reader(of: 0..<size + 1) == nil)
        #expect(await found.body.reader(of: -1..<size) == nil)
    }

    @Test("variants are stored side by side, and a new response replaces the old one of its variant")
    func variants() async throws {
        let store = try folder.open()
        let entries = ["x", "y"].map { entry("a", variant: $0) }
        for entry in entries { await store.put(entry, Data(entry.variant.utf8)) }
        await store.put(entry("a", partition: "p"), Data("other".utf8))
        #expect(Set(await store.entries(for: entries[0].key).map(\.entry.variant)) == ["x", "y"])
        let newer = entry("a", variant: "x")
        await store.put(newer, bytes(300_000))
        let found = await store.entries(for: newer.key)
        #expect(found.count == 2 && Set(found.map(\.entry.id)) == [newer.id, entries[1].id])
        let other = try #require(found.first { $0.entry.variant == "y" })
        #expect(try await other.body.whole() == Data("y".utf8))
        #expect(try await store.body(entry("a", partition: "p").key) == Data("other".utf8))
    }

    @Test("an entry that is replaced or removed can be read to its end")
    func readingOn() async throws {
        let store = try folder.open()
        for size in [100, 3_000_000] {
            let (stored, body) = (entry("a"), bytes(size))
            await store.put(stored, body)
            let found = try #require(await store.entries(for: stored.key).first)
            let reader = try #require(await found.body.reader(of: 0..<Int64(size)))
            await store.put(entry("a"), bytes(300_000, seed: 2))
            await store.removeAll()
            var read = Data()
            while let chunk = try await reader.next() { read.append(chunk) }
            #expect(read == body)
            #expect(try await found.body.whole() == body)
        }
    }

    @Test("a body that was dropped, released or not yet committed is not found")
    func writers() async throws {
        let store = try folder.open()
        for size in [100, 600_000] {
            for isDropped in [true, false] {
                let stored = entry("a")
                var writer = await store.writer(for: stored, expectedSize: nil)
                #expect(await writer?.write(bytes(size)) == true)
                #expect(await store.entries(for: stored.key).isEmpty)
                if isDropped { await writer?.drop() }
                writer = nil
            }
        }
        // Clearing runs after the work that the lanes have queued for the dropped writers.
        await store.removeAll()
        #expect(try await eventually { try folder.bodyNames().isEmpty })
        #expect(await store.size() == 0)
    }

    @Test("a validation changes head and lifetime, and not the body")
    func updating() async throws {
        let store = try folder.open()
        for size in [100, 400_000] {
            let (stored, body) = (entry("a\(size)"), bytes(size))
            await store.put(stored, body)
            var newer = stored
            newer.response.head.headers.add(name: "Age", value: "7")
            newer.lifetime.freshUntil += 60
            newer.lifetime.usableUntil += 60
            await store.update(newer)
            let found = try #require(await (try folder.open()).entries(for: stored.key).first)
            #expect(found.entry == newer)
            #expect(try await found.body.whole() == body)
            // An update for an entry that has been replaced changes nothing.
            let other = entry("a\(size)")
            await store.put(other, body)
            await store.update(newer)
            #expect(await store.entries(for: stored.key).map(\.entry) == [other])
        }
    }

    @Test("an entry, a URL in all partitions, or everything can be removed")
    func removing() async throws {
        let store = try folder.open()
        let entries = [entry("a"), entry("a", partition: "p"), entry("b")]
        for entry in entries { await store.put(entry, bytes(300_000)) }
        await store.remove(entry("b"))
        #expect(await store.entries(for: entries[2].key).count == 1)
        await store.remove(entries[2])
        #expect(await store.entries(for: entries[2].key).isEmpty)
        await store.removeAll(url: entries[0].key.url)
        #expect(await store.entries(for: entries[0].key).isEmpty)
        #expect(await store.entries(for: entries[1].key).isEmpty)
        await store.put(entries[0], bytes(300_000))
        await store.removeAll()
        #expect(await store.entries(for: entries[0].key).isEmpty)
        #expect(await store.size() == 0)
        #expect(try await eventually { try folder.bodyNames().isEmpty })
        #expect(await store.put(entries[0], bytes(100)))
    }

    @Test("the removal of an origin removes its entries in all partitions and none of another origin")
    func removingOrigin() async throws {
        let store = try folder.open()
        let gone = [entry("a"), entry("b/c?d", partition: "p")]
        let kept = ["https://store.test", "http://store.test:81", "http://store.test.more"].map {
            entry("a", origin: $0)
        }
        for entry in gone + kept { await store.put(entry, bytes(300_000)) }
        await store.removeAll(origin: "http://store.test/")
        for entry in gone { #expect(await store.entries(for: entry.key).isEmpty) }
        for entry in kept { #expect(try await store.body(entry.key) == bytes(300_000)) }
        #expect(try await eventually { try folder.bodyNames().count == kept.count })
    }

    @Test("fields with credentials are not written, and only the user may access the files")
    func secrets() async throws {
        let store = try folder.open()
        let headers: HTTPHeaders = [
            "Content-Type": "text/plain", "Set-Cookie": "a=marker", "Authorization": "marker", "X-Api-Key": "marker",
            "Authentication-Info": "marker", "ETag": "\"kept\"",
        ]
        let stored = entry("a", headers: headers)
        await store.put(stored, bytes(100))
        await store.update(stored)
        await store.put(entry("large"), bytes(300_000))
        let found = try #require(await store.entries(for: stored.key).first)
        #expect(found.entry.response.head.headers.map(\.name).sorted() == ["Content-Type", "ETag"])
        let manager = FileManager.default
        let path = folder.cache.path(percentEncoded: false)
        for name in [""] + (try manager.subpathsOfDirectory(atPath: path)) {
            let attributes = try manager.attributesOfItem(atPath: path + "/" + name)
            let isDirectory = attributes[.type] as? FileAttributeType == .typeDirectory
            #expect(attributes[.posixPermissions] as? Int == (isDirectory ? 0o700 : 0o600), "\(name)")
            guard !isDirectory else { continue }
            let content = try Data(contentsOf: folder.cache.appending(path: name))
            #expect(content.range(of: Data("marker".utf8)) == nil, "\(name)")
        }
    }

    @Test("a body that is too large is refused at the start, or once it exceeds the limit")
    func entrySize() async throws {
        let store = try folder.open(maximumEntrySize: 10_000)
        #expect(await store.writer(for: entry("a"), expectedSize: 10_001) == nil)
        #expect(await store.put(entry("a"), bytes(9000)))
        let writer = try #require(await store.writer(for: entry("a"), expectedSize: nil))
        #expect(await writer.write(bytes(6000)))
        #expect(await !writer.write(bytes(6000)))
        #expect(await !writer.commit())
        #expect(store.faults == DiskCacheFaults())
    }

    @Test(
        "an id that cannot name a file is refused",
        arguments: ["", "../../../etc/passwd", String(repeating: "G", count: 32)])
    func ids(id: String) async throws {
        let store = try folder.open()
        let model = entry("a")
        let stored = CacheEntry(id: id, key: model.key, response: model.response, lifetime: model.lifetime)
        #expect(await store.writer(for: stored, expectedSize: nil) == nil)
        await store.remove(stored)
        await store.update(stored)
    }
}

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
