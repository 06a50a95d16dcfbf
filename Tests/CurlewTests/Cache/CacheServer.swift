import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation

/// A session with a cache over canned responses, and a clock that a test advances.
struct CacheServer {
    let transport: MockTransport
    let cache: ResponseCache
    let session: Session
    private let time: Lock<Date>

    static let url = "https://example.org/a"

    init(
        mode: CacheMode = .private,
        store: any CacheStore = MemoryCacheStore(),
        handler: (any CachedResponseHandler)? = nil,
        monitors: [any EventMonitor] = [],
        cookies: CookieJar? = nil,
        _ answer: @escaping MockTransport.Handler
    ) {
        let time = Lock(Date(timeIntervalSince1970: 1_800_000_000))
        self.time = time
        let cache = ResponseCache(store: store, mode: mode, staleWhileRevalidateLimit: 2) { time.withLock { $0 } }
        self.cache = cache
        transport = MockTransport(answer)
        session = Session(
            configuration: SessionConfiguration {
                $0.cache = cache
                $0.proxy = .none
                $0.cookies = cookies
            },
            transport: transport,
            cachedResponseHandler: handler,
            eventMonitors: monitors
        )
    }

    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }

    func get(
        _ path: String = "a",
        _ headers: HTTPHeaders = [:],
        policy: CachePolicy? = nil
    ) async -> DataResponse<Data?, CurlewError> {
        let request = session.request("https://example.org/" + path, headers: headers)
        if let policy { request.cachePolicy(policy) }
        return await request.response()
    }

    /// Begins a request for `url` while another is under way. It may not wait for that one yet.
    func beginWaiter() async throws -> (DataRequest, Task<DataResponse<Data?, CurlewError>, Never>) {
        let waiter = session.request(Self.url)
        let response = Task { await waiter.response() }
        try await eventually { waiter.state != .initialized }
        return (waiter, response)
    }

    var sent: Int { transport.requests.count }
}

/// A store that changes some of the methods of a store in memory.
protocol CacheStoreOverMemory: CacheStore {
    var memory: MemoryCacheStore { get }
}

extension CacheStoreOverMemory {
    func entries(for key: CacheKey) async -> [StoredEntry] { await memory.entries(for: key) }
    func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)? {
        await memory.writer(for: entry, expectedSize: expectedSize)
    }
    func update(_ entry: CacheEntry) async { await memory.update(entry) }
    func remove(_ entry: CacheEntry) async { await memory.remove(entry) }
    func removeAll(url: String) async { await memory.removeAll(url: url) }
    func removeAll() async { await memory.removeAll() }
    func size() async -> Int64 { await memory.size() }
}

/// Sessions that share a cache; the text of each session's responses is its name. They ignore proxies of the
/// environment.
protocol CacheSharing {}

extension CacheSharing {
    func session(
        _ cache: ResponseCache,
        _ name: String,
        control: String = "max-age=60",
        fields: HTTPHeaders = [:],
        trust: ServerTrustManager? = nil,
        _ configure: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.cache = cache
        configuration.proxy = .none
        configure(&configuration)
        return Session(
            configuration: configuration,
            transport: MockTransport { _ in cacheable(name, control, fields) },
            serverTrustManager: trust
        )
    }

    func get(_ session: Session, _ headers: HTTPHeaders = [:]) async -> (text: String?, status: CacheStatus?) {
        let response = await session.request(CacheServer.url, headers: headers).response()
        return (response.text, response.cacheStatus)
    }
}

/// A text response with fields for caches.
func cacheable(_ text: String, _ control: String = "max-age=60", _ fields: HTTPHeaders = [:]) -> MockResponse {
    var response = MockResponse.text(text)
    response.headers.append(name: "Cache-Control", value: control)
    for field in fields { response.headers.append(field) }
    return response
}

extension DataResponse where Success == Data?, Failure == CurlewError {
    var text: String? { data.map { String(decoding: $0, as: UTF8.self) } }
}
