import Curlew
import CurlewCore
import CurlewDiskCache
import CurlewTesting
import Foundation
import Glibc
import StoreSupport
import Testing

@Suite("A session over a disk cache")
struct SessionOverDiskTests {
    private let folder: TestFolder
    private let server: TestServer

    init() throws {
        folder = try TestFolder()
        server = try TestServer()
    }

    private func session(_ store: DiskCacheStore) -> Session {
        let cache = ResponseCache(store: store)
        return Session(configuration: SessionConfiguration { $0.cache = cache })
    }

    private func response(_ body: Data) -> TestServer.Response {
        .data(body).header("Cache-Control", "max-age=600")
    }

    @Test("a server that closes in the body leaves neither an entry nor a file", arguments: [100_000, 1_900_000])
    func broken(after: Int64) async throws {
        let (store, body) = (try folder.open(), bytes(2_000_000))
        let session = session(store)
        server.script("/a", response(body).faulting(.close, at: .inBody(after: after)), response(body))
        let url = server.url("/a")
        #expect(await session.request(url).response().error != nil)
        #expect(await store.size() == 0)
        #expect(try await eventually { try folder.bodyNames().isEmpty })
        #expect(await session.request(url).response().data == body)
        // A new store over the directory, as the next process would have it, finds the response.
        let hit = await self.session(try folder.open()).request(url).response()
        #expect(hit.data == body && hit.cacheStatus == .hit)
        #expect(store.faults == DiskCacheFaults())
    }

    @Test("on a full disk every response is delivered whole", .enabled(if: getuid() == 0, "mounting needs root"))
    func fullDisk() async throws {
        guard try folder.mountSmallDisk() else { return }
        defer { folder.unmountSmallDisk() }
        let store = try folder.open()
        let session = session(store)
        server.route("/{name}") { [response = response(bytes(700_000))] _ in response }
        for round in 0..<2 {
            for number in 0..<10 {
                let answer = await session.request(server.url("/\(number)")).response()
                #expect(answer.data == bytes(700_000), "round \(round), \(number)")
            }
        }
        #expect(store.faults.failedWrites > 0)
    }

    @Test("Clear-Site-Data over plain http clears nothing") func plainClear() async throws {
        let store = try folder.open()
        let session = session(store)
        server.script("/a", response(bytes(100)))
        server.script("/out", .text("bye").header("Clear-Site-Data", "\"cache\""))
        _ = await session.request(server.url("/a")).response()
        _ = await session.request(server.url("/out")).response()
        #expect(await session.request(server.url("/a")).response().cacheStatus == .hit)
    }
}
