import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// Bodies that are streamed into the store and out of it.
@Suite struct CacheStreamingTests {
    private static func large(_ size: Int) -> Data { Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }) }

    private static func response(_ data: Data, pieces: Int = 64 * 1024) -> MockResponse {
        let chunks = stride(from: 0, to: data.count, by: pieces).map { data[$0..<min($0 + pieces, data.count)] }
        var response = MockResponse.chunks(chunks.map { Data($0) })
        response.headers.append(name: "Cache-Control", value: "max-age=60")
        return response
    }

    @Test func aLargeBodyIsStoredWhileItGoesToItsReader() async throws {
        let data = Self.large(6_000_000)
        let server = CacheServer { _ in Self.response(data) }
        #expect(await server.get().data == data)
        let second = await server.get()
        #expect(second.data == data && second.cacheStatus == .hit)
    }

    @Test func aHitHandsOnTheStoredBytesThemselves() async throws {
        let data = Self.large(1_000_000)
        let server = CacheServer { _ in Self.response(data) }
        _ = await server.get()
        let first = try #require(await server.get().data)
        let second = try #require(await server.get().data)
        #expect(first == data && second == data)
        let addresses = [first, second].map { $0.withUnsafeBytes { $0.baseAddress } }
        #expect(addresses[0] == addresses[1])
        // A reader that changes its data must not change the data of other readers.
        var changed = first
        changed[0] ^= 1
        #expect(await server.get().data == data)
        // The indices of a part begin at 0, as users expect.
        let part = await server.get("a", ["Range": "bytes=5-9"])
        #expect(part.data == data[5..<10] && part.data?.startIndex == 0)
    }

    @Test func aBodyThatIsTooLargeForMemoryIsNotStored() async throws {
        let data = Self.large(300_000)
        let server = CacheServer(store: MemoryCacheStore(maximumEntrySize: 299_999)) { _ in Self.response(data) }
        #expect(await server.get().data == data)
        #expect(await server.get().cacheStatus == .miss)
        #expect(await server.cache.store.size() == 0)
    }

    @Test func aSlowStorePausesTheNetwork() async throws {
        let data = Self.large(12_000_000)
        let gate = Gate()
        let store = SlowStore(gate: gate)
        let server = CacheServer(store: store) { _ in Self.response(data) }
        async let response = server.get()
        try await store.begun.wait()
        gate.open()
        #expect(await response.data == data)
        #expect(await server.get().data == data)
        #expect(server.sent == 1)
    }

    @Test func aStreamReadsFromTheStoreAtItsOwnPace() async throws {
        let data = Self.large(3_000_000)
        let server = CacheServer { _ in Self.response(data) }
        _ = await server.get()
        var received = Data()
        for try await chunk in server.session.streamRequest(CacheServer.url).chunks {
            received.append(chunk)
            await Task.yield()
        }
        #expect(received == data && server.sent == 1)
    }

    @Test func aReaderThatLeavesStoresNothing() async throws {
        let data = Self.large(3_000_000)
        let server = CacheServer { _ in Self.response(data) }
        for try await _ in server.session.streamRequest(CacheServer.url).chunks { break }
        await server.session.cancelAllRequests()
        #expect(await server.get().cacheStatus == .miss)
    }

    @Test func aDownloadIsServedFromTheStore() async throws {
        let server = CacheServer { _ in cacheable("hello") }
        _ = await server.get()
        let response = await server.session.download(CacheServer.url).response()
        let file = try #require(response.fileURL)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data("hello".utf8))
        #expect(response.cacheStatus == .hit)
    }

    @Test func aStoredBodyKeepsToTheLimitOfTheRequest() async {
        let server = CacheServer { _ in cacheable("hello") }
        _ = await server.get()
        let response = await server.session.request(CacheServer.url).maximumBodySize(4).response()
        #expect(response.error?.code == .limitExceeded)
    }

    @Test func aHitKeepsToItsTotalTime() async throws {
        let data = Self.large(6_000_000)
        let server = CacheServer { _ in Self.response(data) }
        _ = await server.get()
        let request = server.session.streamRequest(CacheServer.url).timeouts { $0.total = .milliseconds(50) }
        var chunks = request.chunks.makeAsyncIterator()
        var received = 0
        let error = await #expect(throws: CurlewError.self) {
            // On a busy machine the time limit may expire before the first piece.
            received += try await chunks.next()?.count ?? 0
            // Nothing more is read until the time limit has expired.
            while !request.isFinished { await Task.yield() }
            while let chunk = try await chunks.next() { received += chunk.count }
        }
        #expect(error?.code == .totalTimedOut && received < data.count)
    }

    @Test func aSuspendedHitWaits() async throws {
        let server = CacheServer { _ in cacheable("hello") }
        _ = await server.get()
        let request = server.session.request(CacheServer.url)
        request.suspend()
        let task = Task { await request.response() }
        request.resume()
        #expect(await task.value.text == "hello")
    }
}

/// A store that writes nothing until its gate opens.
private final class SlowStore: CacheStore {
    let gate: Gate
    let begun = Gate()
    private let memory = MemoryCacheStore(maximumSize: 64_000_000, maximumEntrySize: 32_000_000)

    init(gate: Gate) { self.gate = gate }

    private final class Writer: CacheWriter {
        let writer: any CacheWriter
        let gate: Gate
        let begun: Gate

        init(_ writer: any CacheWriter, _ gate: Gate, _ begun: Gate) {
            (self.writer, self.gate, self.begun) = (writer, gate, begun)
        }

        func write(_ chunk: Data) async -> Bool {
            begun.open()
            try? await gate.wait()
            return await writer.write(chunk)
        }

        func commit() async -> Bool { await writer.commit() }
        func drop() async { await writer.drop() }
    }

    func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)? {
        await memory.writer(for: entry, expectedSize: expectedSize).map { Writer($0, gate, begun) }
    }

    func entries(for key: CacheKey) async -> [StoredEntry] { await memory.entries(for: key) }
    func update(_ entry: CacheEntry) async { await memory.update(entry) }
    func remove(_ entry: CacheEntry) async { await memory.remove(entry) }
    func removeAll(url: String) async { await memory.removeAll(url: url) }
    func removeAll() async { await memory.removeAll() }
    func size() async -> Int64 { await memory.size() }
}
