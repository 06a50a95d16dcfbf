import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

@testable import CurlewAlamofire

/// Values that code for Alamofire passes to a session.
@Suite(.timeLimit(.minutes(4)))
struct ConfigurationTests {
    @Test func supportedFoundationPropertiesAreUsed() {
        let foundation = URLSessionConfiguration.ephemeral
        foundation.timeoutIntervalForRequest = 7
        foundation.timeoutIntervalForResource = 30
        foundation.httpMaximumConnectionsPerHost = 3
        foundation.httpAdditionalHeaders = ["X-Mark": "yes"]
        let configuration = SessionConfiguration(foundation)
        #expect(configuration.timeouts.firstByte == .seconds(7))
        #expect(configuration.timeouts.idle == .seconds(7))
        #expect(configuration.timeouts.total == .seconds(30))
        #expect(configuration.maximumConnectionsPerHost == 3)
        #expect(configuration.headers["x-mark"] == "yes")
    }

    @Test(arguments: [.infinity, .greatestFiniteMagnitude] as [TimeInterval])
    func infiniteTimeoutDoesNotTrap(_ time: TimeInterval) {
        let foundation = URLSessionConfiguration.ephemeral
        foundation.timeoutIntervalForRequest = time
        foundation.timeoutIntervalForResource = time
        let configuration = SessionConfiguration(foundation)
        #expect(configuration.timeouts.total == nil)
        #expect((configuration.timeouts.idle ?? .seconds(1_000_000)) > .seconds(100_000))
    }

    @Test func foundationDefaultsKeepHeadersAndSetNoTotalTimeout() {
        let configuration = SessionConfiguration(URLSessionConfiguration.default)
        #expect(configuration.headers == HTTPHeaders.default)
        #expect(configuration.timeouts.total == nil)
        #expect(
            configuration.maximumConnectionsPerHost == URLSessionConfiguration.default.httpMaximumConnectionsPerHost)
    }

    /// Every `URLSessionConfiguration` has the shared cache. A server should not store its users' responses there by
    /// default, so only another cache counts.
    @Test func customURLCacheBecomesCacheOfItsSize() async throws {
        #expect(SessionConfiguration(URLSessionConfiguration.default).cache == nil)
        let foundation = URLSessionConfiguration.default
        foundation.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let server = try TestServer()
        server.script("/kept", .status(200, headers: ["Cache-Control": "max-age=60", "Content-Type": "text/plain"]))
        let session = Session(configuration: foundation, rootQueue: .main, cachedResponseHandler: ResponseCacher.cache)
        for expected in [CacheStatus.miss, .hit] {
            let request = session.request(server.url("/kept"))
            let response = await request.serializingData(emptyResponseCodes: [200]).response
            #expect(response.error == nil)
            #expect(response.cacheStatus == expected)
        }
        #expect(server.requests.count == 1)
    }

    @Test func neverAcceptingCookiesDisablesTheJar() {
        let foundation = URLSessionConfiguration.ephemeral
        foundation.httpCookieAcceptPolicy = .never
        #expect(SessionConfiguration(foundation).cookies == nil)
        #expect(SessionConfiguration.ephemeral.cookies != nil)
    }

    @Test func queueParametersAreAcceptedAndIgnored() async throws {
        let server = try TestServer()
        let queue = DispatchQueue(label: "queue")
        let sessions = [
            Session(rootQueue: queue),
            Session(rootQueue: queue, requestQueue: queue, serializationQueue: queue),
            Session(configuration: .ephemeral, startRequestsImmediately: true, requestQueue: queue),
            Session(serializationQueue: queue, eventMonitors: [AlamofireNotifications()]),
        ]
        for session in sessions {
            #expect(await session.request(server.url("/anything")).serializingData().response.error == nil)
        }
    }

    @Test func aSessionTakesFoundationsConfiguration() async throws {
        let server = try TestServer()
        let foundation = URLSessionConfiguration.af.default
        foundation.headers.add(name: "X-Mark", value: "yes")
        let session = Session(
            configuration: foundation, rootQueue: DispatchQueue(label: "root"), interceptor: .retryPolicy)
        #expect(await session.request(server.url("/anything")).serializingData().response.error == nil)
        #expect(server.requests.map { $0.headers["X-Mark"] } == ["yes"])
        #expect(Session(configuration: .af.default).configuration.cookies == nil)
        #expect(Session(configuration: .af.ephemeral).configuration.cookies != nil)
    }

    @Test func proxyDependsOnTheScheme() throws {
        let foundation = URLSessionConfiguration.default
        foundation.connectionProxyDictionary = [
            "HTTPEnable": 1, "HTTPProxy": "plain.example", "HTTPPort": 8080,
            "HTTPSEnable": 1, "HTTPSProxy": "secure.example", "HTTPSPort": 8443, "ExceptionsList": ["*.local"],
        ]
        let routing = try #require(SessionConfiguration(foundation).proxyRouting)
        let plain = try #require(URL(string: "http://plain.example:8080"))
        let secure = try #require(URL(string: "http://secure.example:8443"))
        #expect(routing(try #require(URL(string: "http://a.org"))) == .url(plain, exclusions: [".local"]))
        #expect(routing(try #require(URL(string: "https://a.org"))) == .url(secure, exclusions: [".local"]))
        foundation.connectionProxyDictionary = ["SOCKSEnable": 1, "SOCKSProxy": "socks.example", "SOCKSPort": 1080]
        let socks = try #require(SessionConfiguration(foundation).proxyRouting)
        #expect(
            socks(try #require(URL(string: "https://a.org")))
                == .url(try #require(URL(string: "socks5h://socks.example:1080"))))
        foundation.connectionProxyDictionary = ["HTTPEnable": 0, "HTTPProxy": "plain.example"]
        #expect(SessionConfiguration(foundation).proxyRouting?(plain) == Proxy.none)
        foundation.connectionProxyDictionary = nil
        #expect(SessionConfiguration(foundation).proxyRouting == nil)
    }

    @Test(arguments: [-1, 65_536, Int.max])
    func proxyWithInvalidPortIsNotIgnored(port: Int) throws {
        let foundation = URLSessionConfiguration.default
        foundation.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "plain.example", "HTTPPort": port]
        let routing = try #require(SessionConfiguration(foundation).proxyRouting)
        let unreachable = try #require(URL(string: "http://plain.example:0"))
        #expect(routing(try #require(URL(string: "http://a.org"))) == .url(unreachable, exclusions: []))
    }

    @Test(arguments: [
        ("fd00::1", "http://[fd00::1]:8080"), ("[fd00::1]", "http://[fd00::1]:8080"),
        ("::ffff:192.0.2.1", "http://[::ffff:192.0.2.1]:8080"), ("plain.example:3128", "http:"),
        ("http://plain.example", "http:"), ("plain example", "http:"),
    ])
    func proxyWithInvalidHostIsNotIgnored(host: String, proxy: String) throws {
        let foundation = URLSessionConfiguration.default
        foundation.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": host, "HTTPPort": 8080]
        let routing = try #require(SessionConfiguration(foundation).proxyRouting)
        let url = try #require(URL(string: proxy))
        #expect(routing(try #require(URL(string: "http://a.org"))) == .url(url, exclusions: []))
    }

    /// A request is not sent directly if its proxy is invalid.
    @Test func invalidProxyFailsRequests() async throws {
        let server = try TestServer()
        let foundation = URLSessionConfiguration.default
        foundation.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "http://plain.example"]
        let response = await Session(configuration: foundation).request(server.url("/anything")).serializingData()
            .response
        #expect(response.error?.code == .proxyFailed)
        #expect(server.requests.isEmpty)
    }

    @Test func unsupportedFoundationPropertiesAreNamed() {
        let foundation = URLSessionConfiguration.default
        #expect(FoundationNotice.properties(setIn: foundation) == [])
        foundation.networkServiceType = .background
        foundation.allowsCellularAccess = false
        #expect(FoundationNotice.properties(setIn: foundation) == ["allowsCellularAccess", "networkServiceType"])
    }

    /// Moya waits synchronously for the request queue of every live request, on the calling thread.
    @Test @MainActor func mainThreadMayWaitForSessionQueues() {
        let (session, order) = (Session(), Lock<[Int]>([]))
        for (number, queue) in [session.rootQueue, session.requestQueue, session.serializationQueue].enumerated() {
            queue.sync { order.withLock { $0.append(number) } }
        }
        let done = DispatchSemaphore(value: 0)
        // The main thread waits for another thread, which waits for the queues.
        DispatchQueue.global().async {
            session.rootQueue.sync { session.requestQueue.sync { order.withLock { $0.append(3) } } }
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(order.withLock { $0 } == [0, 1, 2, 3])
    }

    /// Work that the completion adds to the session's queue runs last.
    @Test func progressIsReportedBeforeTheCompletion() async throws {
        let server = try TestServer()
        let session = Session()
        let order = Lock<[String]>([])
        let size: Int64 = 200_000
        await withCheckedContinuation { continuation in
            session.request(server.url("/bytes/\(size)"))
                .downloadProgress { progress in
                    if progress.completedUnitCount == size { order.withLock { $0.append("progress") } }
                }
                .response { _ in
                    order.withLock { $0.append("completion") }
                    session.rootQueue.async {
                        order.withLock { $0.append("after") }
                        continuation.resume()
                    }
                }
        }
        #expect(order.withLock { $0 } == ["progress", "completion", "after"])
    }
}
