import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// Stale responses that are served when the server fails or while they are validated in the background.
@Suite struct CacheFailureTests {
    static let failures: [(MockResponse, serves: Bool)] = [
        (.failing(CurlewError(.connectFailed, phase: .connect)), true),
        (.failing(CurlewError(.firstByteTimedOut, phase: .waiting)), true),
        (.failing(CurlewError(.certificateExpired, phase: .tls)), false),
        (.text("busy", status: 503), true), (.text("no", status: 404), false), (.text("odd", status: 501), false),
    ]

    @Test(arguments: failures.indices) func aStaleResponseIsServedInsteadOfAFailure(at index: Int) async {
        let (failure, serves) = Self.failures[index]
        for fields: HTTPHeaders in [[:], ["ETag": "\"e\""]] {
            let server = CacheServer { request in
                request.index == 0 ? cacheable("hello", "max-age=1, stale-if-error=60", fields) : failure
            }
            _ = await server.get()
            server.advance(by: 5)
            let response = await server.get()
            #expect((response.text == "hello") == serves)
            #expect((response.cacheStatus == .stale(.ifError)) == serves)
        }
    }

    /// RFC 9111, 4.2.4 and 5.1: without a validation, the response has its current age; 5.5: no `Warning` is added.
    @Test("a stale response served instead of a failure has its stored fields and its current age")
    func fields() async {
        let stored: HTTPHeaders = ["ETag": "\"e\"", "Age": "7", "X-Own": "stored", "Set-Cookie": "own=1"]
        let server = CacheServer { request in
            guard request.index > 0 else { return cacheable("hello", "max-age=1, stale-if-error=60", stored) }
            var failure = MockResponse.text("busy", status: 503)
            failure.headers.append(name: "Retry-After", value: "9")
            failure.headers.append(name: "X-Own", value: "failure")
            return failure
        }
        _ = await server.get()
        server.advance(by: 5)
        let response = await server.get()
        let headers = response.head?.headers ?? [:]
        #expect(response.cacheStatus == .stale(.ifError) && response.head?.status == 200)
        #expect(headers.filter { $0.name == "Age" }.map(\.value) == ["12"])
        #expect(headers.value(for: "X-Own") == "stored" && headers.value(for: "ETag") == "\"e\"")
        #expect(headers.value(for: "Retry-After") == nil && headers.value(for: "Warning") == nil)
    }

    @Test func staleResponseReplacesLongOrTruncatedFailure() async {
        let large = String(repeating: "busy ", count: 500_000)
        let failures: [MockResponse] = [
            .text(large, status: 503),
            .text("busy", status: 503).failing(with: CurlewError(.truncated, phase: .receive)),
        ]
        for failure in failures {
            let server = CacheServer { request in
                request.index == 0 ? cacheable("hello", "max-age=1, stale-if-error=60") : failure
            }
            _ = await server.get()
            server.advance(by: 5)
            let response = await server.get()
            #expect(response.text == "hello" && response.cacheStatus == .stale(.ifError))
            #expect(server.sent == 2)
        }
    }

    @Test func bufferedFailureIsDeliveredIfStoredBodyIsGone() async {
        let store = FaultyStore()
        let server = CacheServer(store: store) { request in
            request.index == 0 ? cacheable("hello", "max-age=1, stale-if-error=60") : .text("busy", status: 503)
        }
        _ = await server.get()
        server.advance(by: 5)
        store.loses.withLock { $0 = true }
        let response = await server.get()
        #expect(response.head?.status == 503 && response.text == "busy" && response.cacheStatus == .miss)
        #expect(server.sent == 2)
    }

    /// The failure's body exceeds the limit for bodies that are kept, or its connection breaks.
    @Test(
        "a failure that was not buffered whole is requested again if the stored body is gone", arguments: [false, true])
    func failureIsRequestedAgainIfStoredBodyIsGone(breaksOff: Bool) async {
        let store = FaultyStore()
        let text = String(repeating: "busy ", count: breaksOff ? 1 : 500_000)
        let truncated = CurlewError(.truncated, phase: .receive)
        let server = CacheServer(store: store) { request in
            if request.index == 0 { return cacheable("hello", "max-age=1, stale-if-error=60") }
            let failure = MockResponse.text(text, status: 503)
            return breaksOff && request.index == 1 ? failure.failing(with: truncated) : failure
        }
        _ = await server.get()
        server.advance(by: 5)
        store.loses.withLock { $0 = true }
        let response = await server.get()
        #expect(response.head?.status == 503 && response.text == text)
        #expect(server.sent == 3 && response.cacheStatus == .miss)
    }

    @Test(arguments: [10, 500_000]) func failedBackgroundRevalidationKeepsStoredResponse(count: Int) async {
        let control = "max-age=1, stale-while-revalidate=10, stale-if-error=60"
        let server = CacheServer { request in
            if request.index == 0 { return cacheable("hello", control, ["ETag": "\"e\""]) }
            return cacheable(String(repeating: "busy ", count: count), "max-age=60").changed { $0.status = 503 }
        }
        _ = await server.get()
        server.advance(by: 5)
        #expect(await server.get().cacheStatus == .stale(.whileRevalidate))
        await server.session.untilCacheIsIdle()
        #expect(server.sent == 2)
        server.advance(by: 20)
        let response = await server.get()
        #expect(response.text == "hello" && response.cacheStatus == .stale(.ifError))
        #expect(server.sent == 3)
    }

    @Test func requestCancelledDuringServerFailureIsCancelled() async throws {
        let gate = Gate()
        let server = CacheServer { request in
            if request.index == 0 { return cacheable("hello", "max-age=1, stale-if-error=60") }
            return MockResponse(status: 503, body: [.wait(gate)])
        }
        _ = await server.get()
        server.advance(by: 5)
        let request = server.session.request(CacheServer.url)
        let response = Task { await request.response() }
        try await gate.waitForArrivals(count: 1)
        request.cancel()
        #expect(await response.value.error?.code == .cancelled)
    }

    @Test func failureIsDeliveredAfterStaleIfErrorWindow() async {
        let server = CacheServer { request in
            request.index == 0 ? cacheable("hello", "max-age=1, stale-if-error=60") : .text("busy", status: 503)
        }
        _ = await server.get()
        server.advance(by: 62)
        #expect(await server.get().text == "busy")
    }

    @Test func releasedSessionEndsBackgroundRevalidation() async throws {
        let gate = Gate()
        var server: CacheServer? = CacheServer { request in
            if request.index == 0 { return cacheable("hello", "max-age=1, stale-while-revalidate=60") }
            return MockResponse(status: 200, body: [.wait(gate)])
        }
        let transport = try #require(server?.transport)
        _ = await server?.get()
        server?.advance(by: 5)
        #expect(await server?.get().cacheStatus == .stale(.whileRevalidate))
        try await gate.waitForArrivals(count: 1)
        #expect(transport.runningCount == 1)
        server = nil
        try await eventually { transport.runningCount == 0 }
    }

    @Test func staleWhileRevalidateAsksServerInBackground() async throws {
        let server = CacheServer { request in
            cacheable("\(request.index)", "max-age=1, stale-while-revalidate=60", ["ETag": "\"e\""])
        }
        _ = await server.get()
        server.advance(by: 5)
        let stale = await server.get()
        #expect(stale.text == "0" && stale.cacheStatus == .stale(.whileRevalidate))
        await server.session.untilCacheIsIdle()
        #expect(server.sent == 2 && server.transport.requests[1].headers["If-None-Match"] == "\"e\"")
        let new = await server.get()
        #expect(new.text == "1" && new.cacheStatus == .hit)
        #expect(server.cache.statistics.staleHits == 1)
    }

    @Test(arguments: [false, true])
    func backgroundRevalidationsAreBoundedAndEndWithSession(invalidates: Bool) async throws {
        let gate = Gate()
        let server = CacheServer { request in
            if request.headers["If-None-Match"] != nil { try await gate.wait() }
            return cacheable("a", "max-age=1, stale-while-revalidate=60", ["ETag": "\"e\""])
        }
        for path in ["a", "b", "c"] { _ = await server.get(path) }
        server.advance(by: 5)
        for path in ["a", "a", "b", "c"] { #expect(await server.get(path).cacheStatus == .stale(.whileRevalidate)) }
        _ = try await server.transport.waitForRequests(count: 3)
        // The validations of `a` and `b` wait at the gate, which stays closed.
        if invalidates { await server.session.invalidate() } else { await server.session.drain() }
        #expect(server.transport.runningCount == 0)
        #expect(server.sent <= 5)
    }

    @Test func responseDatedInTheFutureIsRevalidated() async {
        let server = CacheServer { request in
            if request.headers["If-None-Match"] != nil { return .status(304, headers: ["Cache-Control": "max-age=60"]) }
            return cacheable("hello", "max-age=60, stale-if-error=60, stale-while-revalidate=60", ["ETag": "\"e\""])
        }
        _ = await server.get()
        // The clock is set back, so the age of the response is unknown.
        server.advance(by: -3600)
        #expect(await server.get().cacheStatus == .revalidated)
        #expect(await server.get().cacheStatus == .hit)
        server.advance(by: 3600)
        #expect(await server.get().text == "hello")
        #expect(server.sent == 3)
    }

    @Test func aTruncatedBodyIsNotStored() async {
        let server = CacheServer { request in
            request.index == 0
                ? cacheable("half").failing(with: CurlewError(.truncated, phase: .receive)) : cacheable("all")
        }
        #expect(await server.get().error?.code == .truncated)
        let second = await server.get()
        #expect(second.text == "all" && second.cacheStatus == .miss)
    }

    // MARK: Stores that fail

    @Test func missingStoredBodyIsAMiss() async {
        let store = FaultyStore()
        let server = CacheServer(store: store) { cacheable("\($0.index)", "max-age=60", ["ETag": "\"e\""]) }
        _ = await server.get()
        store.loses.withLock { $0 = true }
        let second = await server.get()
        #expect(second.text == "1" && second.cacheStatus == .miss)
    }

    @Test func bodyMissingAfterRevalidationIsFetched() async {
        let store = FaultyStore()
        let server = CacheServer(store: store) { request in
            if request.headers["If-None-Match"] != nil { return .status(304) }
            return cacheable("\(request.index)", "max-age=1", ["ETag": "\"e\""])
        }
        _ = await server.get()
        server.advance(by: 5)
        store.loses.withLock { $0 = true }
        let second = await server.get()
        #expect(second.text == "2" && second.cacheStatus == .miss)
    }

    @Test func storedBodyThatBreaksOffFailsTheRequest() async {
        let store = FaultyStore()
        let server = CacheServer(store: store) { cacheable("\($0.index)") }
        _ = await server.get()
        store.breaks.withLock { $0 = true }
        #expect(await server.get().error?.code == .truncated)
    }

    @Test func storeThatRefusesEntryDoesNotFailRequest() async {
        let store = FaultyStore()
        store.refuses.withLock { $0 = true }
        let large = String(repeating: "x", count: 1_000_000)
        let server = CacheServer(store: store) { _ in cacheable(large) }
        for _ in 0..<2 {
            let response = await server.get()
            #expect(response.text == large && response.cacheStatus == .miss)
        }
        #expect(server.cache.statistics.stores == 0)
    }
}

/// A memory store that fails in the way a test selects.
final class FaultyStore: CacheStoreOverMemory {
    let loses = Lock(false)
    let breaks = Lock(false)
    let refuses = Lock(false)
    let memory = MemoryCacheStore()

    private struct Body: CacheBody {
        let size: Int64
        let breaks: Bool

        func reader(of range: Range<Int64>) async -> (any CacheReader)? { breaks ? BreakingReader() : nil }
    }

    private final class BreakingReader: CacheReader {
        func next() async throws(CurlewError) -> Data? { throw CurlewError(.truncated, phase: .receive) }
    }

    func entries(for key: CacheKey) async -> [StoredEntry] {
        let (loses, breaks) = (loses.withLock { $0 }, breaks.withLock { $0 })
        return await memory.entries(for: key).map { found in
            loses || breaks ? StoredEntry(entry: found.entry, body: Body(size: found.body.size, breaks: breaks)) : found
        }
    }

    func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)? {
        refuses.withLock { $0 } ? nil : await memory.writer(for: entry, expectedSize: expectedSize)
    }
}
