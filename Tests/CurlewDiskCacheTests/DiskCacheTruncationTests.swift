import CurlewCore
import CurlewDiskCache
import Foundation
import Glibc
import StoreProbe
import StoreSupport
import Testing

/// Another program truncates files while stores have them open. If a file were mapped, SIGBUS would end the process,
/// either a probe or that of the tests.
@Suite("Files of a disk cache that are truncated while it is open", .serialized)
struct DiskCacheTruncationTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private var path: String { folder.cache.path(percentEncoded: false) }

    @Test(
        "entries are missing, none is wrong, and the store works again",
        arguments: ["index.sqlite", "index.sqlite-journal", "lock", "bodies/", ""])
    func truncated(name: String) async throws {
        #expect(try await Probe("truncated", path, name).result() == "0 0")
    }

    @Test("stores of several processes that are in use go on", .timeLimit(.minutes(4))) func inUse() async throws {
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
