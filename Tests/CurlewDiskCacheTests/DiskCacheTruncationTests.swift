import CurlewCore
import CurlewDiskCache
import Foundation
import Glibc
import StoreProbe
import StoreSupport
import Testing

/// Another program cuts files to nothing while a store has them open. A file that is mapped would end the process by SIGBUS,
/// so the stores are in processes of their own.
@Suite("Files of a disk cache that are truncated while it is open", .serialized)
struct DiskCacheTruncationTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private var path: String { folder.cache.path(percentEncoded: false) }

    @Test(
        "entries are missing, none is wrong, and the store works again",
        arguments: ["index.sqlite", "-journal", "-wal", "-shm", "lock", "0", ""])
    func truncated(end: String) async throws {
        #expect(try await Probe("truncated", path, end).result() == "0 0")
    }

    @Test("stores of several processes that are in use go on", .timeLimit(.minutes(4))) func inUse() async throws {
        let probes = [try Probe("put", path, "8", "a"), try Probe("put", path, "8", "b")]
        for probe in probes { _ = await probe.lines(1) }
        let store = try folder.open()
        let stores = { (key: Int) in await store.entries(for: Sample(key: key, size: 0, tag: "").entry.key).first }
        let tag = { (stored: StoredEntry?) in stored?.entry.response.head.headers["X-Tag"] ?? "" }
        for round in 0..<60 {
            let names = FileManager.default.subpaths(atPath: path) ?? []
            let indexes = names.filter { $0.hasPrefix("index.sqlite") }
            if let name = (round % 2 == 0 ? indexes : names).randomElement() { truncate(path + "/" + name, 0) }
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
