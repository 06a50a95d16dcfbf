import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// Bodies that are streamed into the store and out of it.
@Suite(.timeLimit(.minutes(4))) struct CacheStreamingTests {
    private static func large(_ size: Int) -> Data { Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }) }

    private static func response(_ data: Data, pieces: Int = 64 * 1024) -> MockResponse {
        let chunks = stride(from: 0, to: data.count, by: pieces).map { data[$0..<min($0 + pieces, data.count)] }
        var response = MockResponse.chunks(chunks.map { Data($0) })
        response.headers.append(name: "Cache-Control", value: "max-age=60")
        return response
    }

    @Test func largeBodyIsStoredWhileItIsDelivered() async throws {
        let data = Self.large(6_000_000)
        let (store, rest) = (WatchedStore(), Gate())
        let server = CacheServer(store: store) { _ in
            Self.response(data).changed { $0.body.insert(.wait(rest), at: $0.body.count / 2) }
        }
        async let response = server.get()
        // The store gets the first bytes before the last ones are sent.
        try await store.hasWritten.wait()
        rest.open()
        #expect(await response.data == data)
        let second = await server.get()
        #expect(second.data == data && second.cacheStatus == .hit)
    }

    @Test func hitsShareTheStoredBytesWithoutCopying() async throws {
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
        let store = WatchedStore(writes: Gate())
        let transport = WatchedTransport(MockTransport { _ in Self.response(data) })
        var configuration = SessionConfiguration()
        configuration.cache = ResponseCache(store: store)
        let session = Session(configuration: configuration, transport: transport)
        async let response = session.request(CacheServer.url).response()
        try await transport.isPaused.wait()
        // 4 MiB wait for the store, besides the piece that it writes and the one that is not full yet.
        #expect((4_000_000..<7_000_000).contains(transport.bytesTaken))
        store.writes.open()
        #expect(await response.data == data)
        #expect(await session.request(CacheServer.url).response().data == data)
        #expect(transport.mock.requests.count == 1)
    }

    @Test func aStreamReadsFromTheStoreAtItsOwnPace() async throws {
        let data = Self.large(6_000_000)
        let store = WatchedStore()
        let server = CacheServer(store: store) { _ in Self.response(data) }
        _ = await server.get()
        var received = Data()
        for try await chunk in server.session.streamRequest(CacheServer.url).chunks {
            if received.isEmpty {
                // Until this reader takes more, the stream holds 1 MiB besides the pieces that it has given it.
                try await eventually { store.bytesRead > 900_000 }
                for _ in 0..<1000 { await Task.yield() }
                #expect(store.bytesRead < 3_000_000)
            }
            received.append(chunk)
        }
        #expect(received == data && server.sent == 1)
    }

    @Test func abandonedResponseIsNotStored() async throws {
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

    @Test func maximumBodySizeAppliesToStoredBody() async {
        let server = CacheServer { _ in cacheable("hello") }
        _ = await server.get()
        let response = await server.session.request(CacheServer.url).maximumBodySize(4).response()
        #expect(response.error?.code == .limitExceeded)
    }

    @Test func totalTimeoutAppliesToHit() async throws {
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
            try await eventually { request.isFinished }
            while let chunk = try await chunks.next() { received += chunk.count }
        }
        #expect(error?.code == .totalTimedOut && received < data.count)
    }

    @Test func suspendedCacheHitWaits() async throws {
        let store = WatchedStore(reads: Gate())
        let server = CacheServer(store: store) { _ in cacheable("hello") }
        _ = await server.get()
        let request = server.session.request(CacheServer.url)
        let task = Task { await request.response() }
        // The request is suspended while its body is read.
        try await store.reads.waitForArrivals(count: 1)
        request.suspend()
        store.reads.open()
        for _ in 0..<10 { #expect(await server.get().cacheStatus == .hit) }
        #expect(!request.isFinished)
        request.resume()
        let response = await task.value
        #expect(response.text == "hello" && response.cacheStatus == .hit)
    }
}

/// A store in memory whose writes and reads wait for gates.
private final class WatchedStore: CacheStoreOverMemory {
    let writes: Gate
    let reads: Gate
    /// Opens with the first write.
    let hasWritten = Gate()
    private let read = Lock(0)
    let memory = MemoryCacheStore(maximumSize: 64_000_000, maximumEntrySize: 32_000_000)

    init(writes: Gate = Gate(isOpen: true), reads: Gate = Gate(isOpen: true)) {
        (self.writes, self.reads) = (writes, reads)
    }

    /// The number of bytes that were read.
    var bytesRead: Int { read.withLock { $0 } }

    private final class Writer: CacheWriter {
        let writer: any CacheWriter
        let store: WatchedStore

        init(_ writer: any CacheWriter, _ store: WatchedStore) { (self.writer, self.store) = (writer, store) }

        func write(_ chunk: Data) async -> Bool {
            store.hasWritten.open()
            try? await store.writes.wait()
            return await writer.write(chunk)
        }

        func commit() async -> Bool { await writer.commit() }
        func drop() async { await writer.drop() }
    }

    private struct Body: CacheBody {
        let body: any CacheBody
        let store: WatchedStore

        var size: Int64 { body.size }

        func reader(of range: Range<Int64>) async -> (any CacheReader)? { Reader(body, range, store) }
    }

    /// Reads a body in pieces of 64 KiB.
    private final class Reader: CacheReader {
        private let body: any CacheBody
        private let rest: Lock<Range<Int64>>
        private let store: WatchedStore

        init(_ body: any CacheBody, _ range: Range<Int64>, _ store: WatchedStore) {
            (self.body, rest, self.store) = (body, Lock(range), store)
        }

        func next() async throws(CurlewError) -> Data? {
            let part = rest.withLock { rest in
                let end = min(rest.lowerBound + 65_536, rest.upperBound)
                defer { rest = end..<rest.upperBound }
                return rest.lowerBound..<end
            }
            guard !part.isEmpty, let reader = await body.reader(of: part) else { return nil }
            try? await store.reads.wait()
            let piece = try await reader.next()
            store.read.withLock { $0 += part.count }
            return piece
        }
    }

    func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)? {
        await memory.writer(for: entry, expectedSize: expectedSize).map { Writer($0, self) }
    }

    func entries(for key: CacheKey) async -> [StoredEntry] {
        await memory.entries(for: key).map { StoredEntry(entry: $0.entry, body: Body(body: $0.body, store: self)) }
    }
}

/// A mock transport that watches the sinks of its exchanges.
private final class WatchedTransport: Transport {
    let mock: MockTransport
    /// Opens when a sink pauses its exchange.
    let isPaused = Gate()
    private let taken = Lock(0)

    init(_ mock: MockTransport) { self.mock = mock }

    /// The number of bytes that sinks have accepted.
    var bytesTaken: Int { taken.withLock { $0 } }

    private final class Sink: TransferSink {
        let sink: any TransferSink
        let transport: WatchedTransport

        init(_ sink: any TransferSink, _ transport: WatchedTransport) {
            (self.sink, self.transport) = (sink, transport)
        }

        func willStart(_ control: any TransferControl) { sink.willStart(control) }
        func didReceive(informational head: ResponseHead) { sink.didReceive(informational: head) }
        func didReceive(head: ResponseHead) -> Disposition { sink.didReceive(head: head) }

        func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
            let disposition = sink.didReceive(body: body)
            switch disposition {
            case .proceed: transport.taken.withLock { $0 += body.count }
            case .pause: transport.isPaused.open()
            case .abort: break
            }
            return disposition
        }

        func didSend(bodyBytes: Int64, of expected: Int64?) { sink.didSend(bodyBytes: bodyBytes, of: expected) }
    }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        try await mock.perform(request, sink: Sink(sink, self))
    }

    func shutdown() async { await mock.shutdown() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        mock.enforcedGuards(of: configuration)
    }
}
