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

    var sent: Int { transport.requests.count }
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
