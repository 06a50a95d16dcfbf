import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

/// Handlers that decide about responses before they are stored.
@Suite struct CachedResponseHandlerTests {
    @Test func doNotCacheHandlerStoresNothing() async {
        let server = CacheServer(handler: .doNotCache) { _ in cacheable("hello") }
        _ = await server.get()
        #expect(await server.get().cacheStatus == .miss)
    }

    @Test func handlerOfRequestOverridesThatOfSession() async {
        let server = CacheServer(handler: .doNotCache) { _ in cacheable("hello") }
        _ = await server.session.request(CacheServer.url).cacheResponse(using: .cache).response()
        #expect(await server.get().cacheStatus == .hit)
    }

    @Test func modifiedResponseIsStoredButNotDeliveredFirst() async throws {
        let cacher = ResponseCacher(
            behavior: .modify { _, response in
                guard let old = response.response else { return nil }
                var fields: [String: String] = ["X-Stored": "yes"]
                for (name, value) in old.allHeaderFields { fields["\(name)"] = "\(value)" }
                let url = URL(string: CacheServer.url)!
                guard let new = HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: fields)
                else {
                    return nil
                }
                return CachedResponse(response: new, data: Data("stored".utf8))
            }
        )
        let server = CacheServer(handler: cacher) { _ in cacheable("sent") }
        #expect(await server.get().text == "sent")
        let second = await server.get()
        #expect(second.text == "stored" && second.head?.status == 203 && second.cacheStatus == .hit)
        #expect(second.head?.headers["X-Stored"] == "yes" && second.head?.headers["Content-Length"] == "6")
    }

    @Test func handlerMayModifyOnlyTheBody() async throws {
        let cacher = ResponseCacher(
            behavior: .modify { _, cached in
                CachedResponse(response: cached.response, data: cached.data + Data("!".utf8), storagePolicy: .allowed)
            }
        )
        let server = CacheServer(handler: cacher) { _ in cacheable("sent") }
        #expect(await server.get().text == "sent")
        let second = await server.get()
        #expect(second.text == "sent!" && second.head?.status == 200 && second.cacheStatus == .hit)
        #expect(CachedResponse(response: nil, data: Data())?.data == nil)
    }

    static let storagePolicies: [(CachedResponse.StoragePolicy, isStored: Bool)] = [
        (.allowed, true), (.allowedInMemoryOnly, true), (.notAllowed, false),
    ]

    @Test(arguments: storagePolicies.indices) func storagePolicyDecidesWhetherResponseIsStored(at index: Int) async {
        let (policy, isStored) = Self.storagePolicies[index]
        let cacher = ResponseCacher(
            behavior: .modify { _, response in
                response.response.map { CachedResponse(response: $0, data: response.data, storagePolicy: policy) }
            }
        )
        let server = CacheServer(handler: cacher) { _ in cacheable("hello") }
        _ = await server.get()
        #expect((await server.get().cacheStatus == .hit) == isStored)
    }

    @Test func handlerDecidesWhichResponsesAreStored() async {
        struct Handler: CachedResponseHandler {
            func dataTask(
                _ task: TaskIdentifier,
                willCacheResponse response: CachedResponse
            ) async -> CachedResponse? {
                response.data == Data("no".utf8) ? nil : response
            }
        }
        let server = CacheServer(handler: Handler()) { cacheable($0.path == "/no" ? "no" : "yes") }
        for path in ["no", "yes"] { _ = await server.get(path) }
        #expect(await server.get("no").cacheStatus == .miss)
        #expect(await server.get("yes").cacheStatus == .hit)
    }

    @Test func responseTooLargeForHandlerIsNotStored() async {
        let large = String(repeating: "x", count: 9_000_000)
        let store = MemoryCacheStore(maximumSize: 64_000_000, maximumEntrySize: 32_000_000)
        let server = CacheServer(store: store, handler: .cache) { _ in cacheable(large) }
        _ = await server.get()
        #expect(store.count == 0)
    }

    /// A handler that accepts the response only when its task is cancelled.
    private struct Stuck: CachedResponseHandler {
        let asked = Gate()
        let answer = Gate()

        func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse? {
            asked.open()
            // Throws when the task is cancelled: nobody opens the gate.
            try? await answer.wait()
            return response
        }
    }

    /// Counts the responses that are about to be stored.
    private final class StorageMonitor: EventMonitor {
        let queue = DispatchQueue(label: "monitor")
        let wantsBodies = true
        let stored = Lock(0)

        func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse) {
            stored.withLock { $0 += 1 }
        }
    }

    @Test func totalTimeoutEndsReviewAndNothingIsStored() async {
        let (store, handler, monitor) = (MemoryCacheStore(), Stuck(), StorageMonitor())
        let server = CacheServer(store: store, handler: handler, monitors: [monitor]) { _ in cacheable("hello") }
        let response = await server.session.request(CacheServer.url).timeouts { $0.total = .seconds(2) }.response()
        #expect(response.error == nil)
        #expect(response.data == Data("hello".utf8))
        #expect(handler.asked.isOpen)
        #expect(handler.answer.waiterCount == 0)
        #expect(store.count == 0)
        await server.session.invalidate()
        monitor.queue.sync {}
        #expect(monitor.stored.withLock { $0 } == 0)
    }

    @Test func responseAcceptedByACancelledTaskIsStored() async throws {
        let (store, handler) = (MemoryCacheStore(), Stuck())
        let server = CacheServer(store: store, handler: handler) { _ in cacheable("hello") }
        let request = server.session.request(CacheServer.url).timeouts { $0.total = .seconds(600) }
        let response = Task { await request.response() }
        try await handler.asked.wait()
        response.cancel()
        _ = await response.value
        #expect(store.count == 1)
    }

    @Test func monitorsReceiveStoredResponses() async {
        final class Monitor: EventMonitor {
            let queue = DispatchQueue(label: "monitor")
            let wantsBodies = true
            let seen = Lock([String]())

            func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse) {
                let text = String(decoding: response.data, as: UTF8.self)
                seen.withLock { $0.append("\(task.rawValue) \(text)") }
            }
        }
        let monitor = Monitor()
        let server = CacheServer(monitors: [monitor]) {
            cacheable($0.path, $0.path == "/b" ? "no-store" : "max-age=60")
        }
        for path in ["a", "b", "a", "c"] { _ = await server.get(path) }
        await server.session.invalidate()
        monitor.queue.sync {}
        #expect(monitor.seen.withLock { $0 } == ["1 /a", "4 /c"])
    }
}
