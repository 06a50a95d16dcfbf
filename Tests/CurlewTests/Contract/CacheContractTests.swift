import Curlew
import CurlewDiskCache
import CurlewLocks
import CurlewRedis
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

// The public contract of the cache, line by line, as a user's program depends on it: only public names are used, and
// the clock is the real one.

private let address = "https://example.org/a"

/// A response that is fresh for a minute, or that is already `age` seconds old.
private func answer(_ text: String, _ control: String = "max-age=60", age: Int? = nil) -> MockResponse {
    let response = MockResponse.text(text).header("Cache-Control", control)
    return age.map { response.header("Age", "\($0)") } ?? response
}

private func sessionOver(
    _ cache: ResponseCache?,
    _ handler: @escaping MockTransport.Handler = { answer("\($0.index)") }
) -> (Session, MockTransport) {
    let transport = MockTransport(handler)
    return (Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport), transport)
}

private func text(_ response: DataResponse<Data?, CurlewError>) -> String? {
    response.data.map { String(decoding: $0, as: UTF8.self) }
}

@Suite("The contract of the cache") struct CacheContractTests {
    // MARK: Caches and stores

    @Test func sessionHasNoCacheByDefault() throws {
        let none: ResponseCache? = SessionConfiguration().cache
        #expect(none == nil && SessionConfiguration.default.cache == nil)
        let cache = ResponseCache()
        #expect(cache.mode == .private && cache.collapsesRequests && cache.staleWhileRevalidateLimit == 16)
        let store = try #require(cache.store as? MemoryCacheStore)
        #expect(store.maximumSize == 64 << 20 && store.maximumEntrySize == 8 << 20)
        let own = ResponseCache(
            store: MemoryCacheStore(maximumSize: 4096, maximumEntrySize: 1024),
            mode: .shared,
            collapsesRequests: false,
            staleWhileRevalidateLimit: 2
        )
        #expect(own.mode == .shared && !own.collapsesRequests && own.staleWhileRevalidateLimit == 2)
        #expect((own.store as? MemoryCacheStore)?.maximumEntrySize == 1024)
    }

    @Test func directoryStoreIsUsedByLaterSessions() async throws {
        let folder = try ScratchDirectory()
        do {
            let store = try DiskCacheStore(
                directory: folder.file("cache"), maximumSize: 512 * 1024 * 1024, maximumEntrySize: 64 * 1024 * 1024)
            let (session, _) = sessionOver(ResponseCache(store: store))
            #expect(await session.request(address).response().cacheStatus == .miss)
        }
        let (later, transport) = sessionOver(ResponseCache(store: try DiskCacheStore(directory: folder.file("cache"))))
        let response = await later.request(address).response()
        #expect(response.cacheStatus == .hit && text(response) == "0" && transport.requests.isEmpty)
        try folder.write("file", "")
        #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.file("file")) }
    }

    @Test func unreachableRedisIsAMissAndNoError() async throws {
        let deadEnd = try DeadEnd(.refusing)
        let store = RedisCacheStore(
            url: "redis://127.0.0.1:\(deadEnd.port)", prefix: "curlew:", maximumEntrySize: 4 * 1024 * 1024)
        let (session, transport) = sessionOver(ResponseCache(store: store))
        for number in 0..<2 { #expect(await text(session.request(address).response()) == "\(number)") }
        #expect(transport.requests.count == 2)
        _ = RedisCacheStore(url: "redis://localhost")
    }

    @Test func removedResponsesAreRequestedAgain() async {
        let cache = ResponseCache()
        let (session, transport) = sessionOver(cache)
        for _ in 0..<2 { _ = await session.request(address).response() }
        await cache.remove(for: URL(string: address)!)
        _ = await session.request(address).response()
        await cache.remove(for: URL(string: "https://example.org/other")!)
        #expect(await session.request(address).response().cacheStatus == .hit)
        await cache.removeAll()
        #expect(await session.request(address).response().cacheStatus == .miss)
        #expect(transport.requests.count == 3)
    }

    @Test func statisticsCountHitsMissesAndStores() async {
        let cache = ResponseCache()
        let (session, _) = sessionOver(cache) { request in
            switch request.path {
            case "/validated" where request.headers["If-None-Match"] != nil: .status(304)
            case "/validated": answer("four", "no-cache").header("ETag", "\"e\"")
            case "/old": answer("stale", age: 100)
            case "/unkept": answer("no", "no-store")
            default: answer("fresh")
            }
        }
        for path in ["a", "a", "validated", "validated", "unkept"] {
            _ = await session.request("https://example.org/" + path).response()
        }
        for _ in 0..<2 { _ = await session.request("https://example.org/old").cachePolicy(.preferStored).response() }
        let statistics: CacheStatistics = cache.statistics
        #expect(statistics.hits == 1 && statistics.misses == 4 && statistics.revalidations == 1)
        #expect(statistics.staleHits == 1 && statistics.collapsed == 0 && statistics.stores == 3)
        #expect(statistics.bytes == Int64("fresh".utf8.count + "four".utf8.count + "stale".utf8.count))
    }

    @Test func waitersAreCountedAsCollapsed() async throws {
        let (cache, gate) = (ResponseCache(), Gate())
        let (session, transport) = sessionOver(cache) { _ in
            try await gate.wait()
            return answer("one")
        }
        let statuses = try await withThrowingTaskGroup(of: CacheStatus?.self) { group in
            for _ in 0..<20 { group.addTask { await session.request(address).response().cacheStatus } }
            try await gate.waitForArrivals(count: 1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(transport.requests.count == 1 && statuses.count { $0 == .miss } == 1)
        #expect(cache.statistics.collapsed == statuses.count { $0 == .collapsed })
        #expect(cache.statistics.collapsed + cache.statistics.hits == 19)
    }

    // MARK: One request

    static let policyRows: [(CachePolicy, URLRequest.CachePolicy, fresh: CacheStatus, old: CacheStatus)] = [
        (.useProtocol, .useProtocolCachePolicy, .hit, .miss),
        (.reload, .reloadIgnoringLocalCacheData, .bypassed(.reload), .bypassed(.reload)),
        (.reload, .reloadIgnoringLocalAndRemoteCacheData, .bypassed(.reload), .bypassed(.reload)),
        (.revalidate, .reloadRevalidatingCacheData, .miss, .miss),
        (.preferStored, .returnCacheDataElseLoad, .hit, .stale(.policy)),
        (.onlyStored, .returnCacheDataDontLoad, .hit, .stale(.policy)),
    ]

    @Test("Curlew's and Foundation's cache policies lead to the same cache status", arguments: policyRows.indices)
    func policies(at index: Int) async throws {
        let row = Self.policyRows[index]
        for (age, expected) in [(0, row.fresh), (100, row.old)] {
            for isFoundations in [false, true] {
                let (session, _) = sessionOver(ResponseCache()) { answer("\($0.index)", age: age) }
                _ = await session.request(address).response()
                var request = URLRequest(url: try #require(URL(string: address)))
                if isFoundations { request.cachePolicy = row.1 }
                let made = session.request(request)
                if !isFoundations { made.cachePolicy(row.0) }
                #expect(await made.response().cacheStatus == expected, "\(age) \(isFoundations)")
            }
        }
    }

    @Test func reloadReplacesStoredResponse() async {
        let (session, _) = sessionOver(ResponseCache())
        _ = await session.request(address).response()
        let reloaded = await session.request(address).cachePolicy(.reload).response()
        #expect(reloaded.cacheStatus == .bypassed(.reload) && text(reloaded) == "1")
        let next = await session.request(address).response()
        #expect(next.cacheStatus == .hit && text(next) == "1")
    }

    @Test func onlyStoredFailsWithNotInCache() async throws {
        let (session, transport) = sessionOver(ResponseCache()) { _ in answer("old", age: 100) }
        do throws(CurlewError) {
            _ = try await session.request(address).cachePolicy(.onlyStored).data()
            Issue.record("there is nothing to serve")
        } catch {
            #expect(error.code == .notInCache && error.responseCode == nil)
        }
        #expect(transport.requests.isEmpty)
        _ = await session.request(address).response()
        // The policy serves a response of any age; the field follows the RFC.
        #expect(await session.request(address).cachePolicy(.onlyStored).response().error == nil)
        let field: HTTPHeaders = ["Cache-Control": "only-if-cached"]
        #expect(await session.request(address, headers: field).response().error?.code == .notInCache)
        #expect(transport.requests.count == 1)
    }

    @Test func withoutACacheThereIsNoStatus() async {
        let (session, _) = sessionOver(nil)
        let response = await session.request(address).response()
        let status: CacheStatus? = response.cacheStatus
        #expect(status == nil && response.metrics?.cacheStatus == nil)
    }

    @Test func credentialsArePartOfTheKeyInPrivateMode() async {
        let (session, transport) = sessionOver(ResponseCache()) { answer($0.headers["Authorization"] ?? "nobody") }
        for (user, status) in [("Bearer a", CacheStatus.miss), ("Bearer b", .miss), ("Bearer a", .hit)] {
            let response = await session.request(address, headers: [.authorization(user)]).response()
            #expect(response.cacheStatus == status && text(response) == user)
        }
        #expect(transport.requests.count == 2)
        let (shared, _) = sessionOver(ResponseCache(mode: .shared))
        for _ in 0..<2 {
            let request = shared.request(address, headers: [.authorization(bearerToken: "a")])
            #expect(await request.response().cacheStatus == .miss)
        }
    }

    // MARK: The status

    /// An exhaustive switch, as in a user's program.
    private func name(_ status: CacheStatus) -> String {
        switch status {
        case .hit: "hit"
        case .miss: "miss"
        case .revalidated: "revalidated"
        case .stale(let reason): "stale \(reason)"
        case .collapsed: "collapsed"
        case .bypassed(let reason): "bypassed \(reason)"
        }
    }

    @Test func cacheStatusIsDescribedAsInRFC9211() {
        let texts: [(CacheStatus, String, String)] = [
            (.hit, "Curlew; hit", "hit"), (.miss, "Curlew; fwd=miss", "miss"),
            (.revalidated, "Curlew; fwd=stale; fwd-status=304", "revalidated"),
            (.stale(.ifError), "Curlew; hit; detail=stale-if-error", "stale ifError"),
            (.collapsed, "Curlew; fwd=miss; collapsed", "collapsed"),
            (.bypassed(.method), "Curlew; fwd=method", "bypassed method"),
        ]
        for (status, text, word) in texts { #expect(status.description == text && name(status) == word) }
    }

    @Test func revalidatedStaleAndBypassedAreReported() async {
        let (session, _) = sessionOver(ResponseCache()) { request in
            if request.method == .post { return .text("done") }
            if request.path == "/error" {
                if request.index > 4 { return .status(503) }
                return answer("kept", "max-age=60, stale-if-error=600", age: 100)
            }
            if request.headers["If-None-Match"] != nil { return .status(304) }
            return answer("kept", "no-cache").header("ETag", "\"e\"")
        }
        _ = await session.request(address).response()
        let validated = await session.request(address).response()
        #expect(validated.cacheStatus == .revalidated && text(validated) == "kept")
        #expect(validated.response?.statusCode == 200)
        let posted = await session.request("https://example.org/b", method: .post).response()
        #expect(posted.cacheStatus == .bypassed(.method))
        let unkept = await session.request("https://example.org/b", headers: ["Cache-Control": "no-store"]).response()
        #expect(unkept.cacheStatus == .bypassed(.noStore))
        for status in [CacheStatus.miss, .stale(.ifError)] {
            let response = await session.request("https://example.org/error").response()
            #expect(response.cacheStatus == status && text(response) == "kept")
        }
    }

    // MARK: Metrics of a hit

    private func expectNoNetwork(_ metrics: TransferMetrics?, _ status: CacheStatus, bytes: Int64) throws {
        let metrics = try #require(metrics)
        #expect(metrics.cacheStatus == status)
        #expect(metrics.nameLookupEnded == nil && metrics.connected == nil && metrics.tlsEstablished == nil)
        #expect(metrics.requestSent == nil && metrics.firstByte == nil && !metrics.isConnectionReused)
        #expect(metrics.remoteAddress == nil && metrics.localAddress == nil)
        #expect(metrics.tlsVersion == nil && metrics.tlsCipher == nil && metrics.httpVersion == nil)
        #expect(metrics.bytesSent == 0 && metrics.bytesReceived == 0 && metrics.decodedBytesReceived == bytes)
        #expect(metrics.ended >= metrics.queued && metrics.duration >= 0)
        #expect(abs(metrics.queued.timeIntervalSinceNow) < 3600)
    }

    @Test("the metrics of a hit have the cache status, and no dates or addresses of the network")
    func metricsOfAHit() async throws {
        // Real connections, which have all of those dates.
        let server = try TestServer()
        let session = Session(configuration: SessionConfiguration { $0.cache = ResponseCache() })
        let url = server.url("/cache/60")
        let first = await session.request(url).response()
        #expect(first.cacheStatus == .miss && first.metrics?.requestSent != nil && first.metrics?.remoteAddress != nil)
        let size = Int64(first.data?.count ?? 0)
        try expectNoNetwork(await session.request(url).response().metrics, .hit, bytes: size)
        let stale = session.request(server.url("/etag/a"))
        _ = await stale.response()
        #expect(stale.metrics?.requestSent != nil)
        let old = await session.request(server.url("/etag/a")).cachePolicy(.onlyStored).response()
        try expectNoNetwork(old.metrics, .stale(.policy), bytes: Int64(old.data?.count ?? -1))
        // A validated response has used the network.
        let validated = await session.request(server.url("/etag/a")).response()
        #expect(validated.cacheStatus == .revalidated && validated.metrics?.requestSent != nil)

        let folder = try ScratchDirectory()
        let download = await session.download(url, to: { _, _ in (folder.file("a"), []) }).response()
        #expect(download.cacheStatus == .hit && folder.read("a") == first.data)
        try expectNoNetwork(download.metrics, .hit, bytes: size)
        let stream = session.streamRequest(url)
        var streamed = Data()
        for try await chunk in stream.chunks { streamed += chunk }
        #expect(streamed == first.data)
        try expectNoNetwork(stream.metrics, .hit, bytes: size)
        #expect(server.requests.count == 3)
        await session.invalidate()
    }

    // MARK: Before a response is stored

    private struct Shouting: CachedResponseHandler {
        func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse? {
            guard let head = response.response else { return nil }
            let text = String(decoding: response.data, as: UTF8.self)
            return CachedResponse(response: head, data: Data(text.uppercased().utf8), storagePolicy: .allowed)
        }
    }

    @Test func requestsHandlerOverridesSessionsHandler() async {
        let configuration = SessionConfiguration { $0.cache = ResponseCache() }
        let transport = MockTransport { answer("text \($0.path)") }
        let session = Session(
            configuration: configuration, transport: transport,
            cachedResponseHandler: ResponseCacher(behavior: .doNotCache))
        let handlers: [(any CachedResponseHandler, second: CacheStatus)] = [
            (ResponseCacher(behavior: .cache), .hit), (ResponseCacher.doNotCache, .miss), (Shouting(), .hit),
        ]
        for (index, (handler, second)) in handlers.enumerated() {
            let url = "https://example.org/\(index)"
            #expect(await session.request(url).cacheResponse(using: handler).response().cacheStatus == .miss)
            #expect(await session.request(url).response().cacheStatus == second)
        }
        #expect(await text(session.request("https://example.org/2").response()) == "TEXT /2")
        _ = await session.request("https://example.org/own").response()
        #expect(await session.request("https://example.org/own").response().cacheStatus == .miss)
    }

    @Test("a modified response is stored, and the first reader gets the original") func modifying() async {
        let cacher = ResponseCacher(
            behavior: .modify { (task: TaskIdentifier, response: CachedResponse) -> CachedResponse? in
                guard let head = response.response else { return nil }
                return CachedResponse(response: head, data: Data("changed".utf8), storagePolicy: response.storagePolicy)
            })
        let session = Session(
            configuration: SessionConfiguration { $0.cache = ResponseCache() },
            transport: MockTransport { _ in answer("sent") },
            cachedResponseHandler: cacher
        )
        #expect(await text(session.request(address).response()) == "sent")
        #expect(await text(session.request(address).response()) == "changed")
        let none = session.request("https://example.org/b").cacheResponse(using: .modify { _, _ in nil })
        _ = await none.response()
        #expect(await session.request("https://example.org/b").response().cacheStatus == .miss)
    }

    private final class Monitor: EventMonitor {
        let queue = DispatchQueue(label: "cache.contract")
        let wantsBodies = true
        let told = Lock([String]())

        func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse) {
            let line = "\(response.response?.statusCode ?? 0) \(String(decoding: response.data, as: UTF8.self))"
            told.withLock { $0.append(line) }
        }
    }

    @Test("monitors hear of each stored response once, and of nothing else") func monitors() async {
        let monitor = Monitor()
        let session = Session(
            configuration: SessionConfiguration { $0.cache = ResponseCache() },
            transport: MockTransport { $0.path == "/b" ? answer("no", "no-store") : answer($0.path) },
            eventMonitors: [monitor]
        )
        for path in ["a", "a", "b"] { _ = await session.request("https://example.org/" + path).response() }
        _ = await session.request("https://example.org/c").cacheResponse(using: .doNotCache).response()
        await session.invalidate()
        monitor.queue.sync {}
        #expect(monitor.told.withLock { $0 } == ["200 /a"])
    }
}
