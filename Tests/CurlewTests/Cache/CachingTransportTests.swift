import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@Suite struct CachingTransportTests {
    @Test func aFreshResponseIsServedWithoutTheServer() async throws {
        let server = CacheServer { _ in cacheable("hello", "max-age=60", ["Set-Cookie": "a=b"]) }
        let first = await server.get()
        #expect(first.text == "hello" && first.cacheStatus == .miss && first.head?.headers["Set-Cookie"] == "a=b")
        server.advance(by: 5)
        let second = await server.get()
        #expect(second.text == "hello" && second.cacheStatus == .hit)
        #expect(second.head?.headers["Age"] == "5" && second.head?.headers["Set-Cookie"] == nil)
        let metrics = try #require(second.metrics)
        #expect(metrics.requestSent == nil && metrics.firstByte == nil && metrics.connected == nil)
        #expect(metrics.bytesReceived == 0 && metrics.decodedBytesReceived == 5)
        #expect(server.sent == 1)
        let statistics = server.cache.statistics
        #expect(statistics.hits == 1 && statistics.misses == 1 && statistics.stores == 1 && statistics.bytes == 5)
    }

    @Test func withoutACacheThereIsNoStatus() async {
        let session = Session(transport: MockTransport { _ in cacheable("hello") })
        #expect(await session.request(CacheServer.url).response().cacheStatus == nil)
        let error = await session.request(CacheServer.url).cachePolicy(.onlyStored).response().error
        #expect(error?.code == .notInCache)
    }

    @Test func cacheStatusIsThatOfTheLastAttempt() async {
        let server = CacheServer { request in
            request.path == "/a" ? .redirect(to: "/b") : cacheable("hello")
        }
        _ = await server.get("b")
        let response = await server.get("a")
        #expect(response.text == "hello" && response.cacheStatus == .hit)
    }

    @Test func aStaleResponseIsValidated() async {
        let jar = CookieJar()
        let server = CacheServer(cookies: jar) { request in
            guard request.headers["If-None-Match"] == "\"e\"" else {
                return cacheable("hello", "max-age=60", ["ETag": "\"e\"", "X": "1"])
            }
            var response = MockResponse.status(304, headers: ["X": "2", "Cache-Control": "max-age=60"])
            // The cookie's path excludes `/a`: responses are partitioned by cookies, and `/a` must find the stored one.
            response.headers.append(name: "Set-Cookie", value: "a=b; Path=/b")
            return response
        }
        _ = await server.get()
        server.advance(by: 61)
        let second = await server.get()
        #expect(second.text == "hello" && second.cacheStatus == .revalidated)
        #expect(second.head?.status == 200 && second.head?.headers["X"] == "2")
        #expect(second.metrics?.requestSent != nil)
        _ = await server.get("b")
        #expect(server.transport.requests.last?.headers["Cookie"] == "a=b")
        server.advance(by: 59)
        #expect(await server.get().cacheStatus == .hit)
        #expect(server.sent == 3 && server.cache.statistics.revalidations == 1)
    }

    @Test func newResponseReplacesStaleOne() async {
        let server = CacheServer { request in
            cacheable("\(request.index)", "max-age=60", ["ETag": "\"\(request.index)\""])
        }
        _ = await server.get()
        server.advance(by: 61)
        let second = await server.get()
        #expect(second.text == "1" && second.cacheStatus == .miss)
        #expect(await server.get().text == "1")
        #expect(server.transport.requests[1].headers["If-None-Match"] == "\"0\"")
    }

    @Test func aResponseThatMustNotBeStoredRemovesTheOldOne() async {
        let server = CacheServer { request in
            cacheable("\(request.index)", request.index == 0 ? "max-age=60" : "no-store", ["ETag": "\"e\""])
        }
        _ = await server.get()
        _ = await server.get(policy: .reload)
        #expect(await server.get().text == "2")
    }

    // MARK: Policies

    static let policies: [(CachePolicy, URLRequest.CachePolicy, age: Double, text: String?, CacheStatus?)] = [
        (.useProtocol, .useProtocolCachePolicy, 5, "0", .hit), (.useProtocol, .useProtocolCachePolicy, 65, "1", .miss),
        (.reload, .reloadIgnoringLocalCacheData, 5, "1", .bypassed(.reload)),
        (.reload, .reloadIgnoringLocalAndRemoteCacheData, 5, "1", .bypassed(.reload)),
        (.revalidate, .reloadRevalidatingCacheData, 5, "1", .miss),
        (.preferStored, .returnCacheDataElseLoad, 65, "0", .stale(.policy)),
        (.onlyStored, .returnCacheDataDontLoad, 65, "0", .stale(.policy)),
        (.onlyStored, .returnCacheDataDontLoad, 5, "0", .hit),
    ]

    @Test(arguments: policies.indices) func cachePolicyDecidesBetweenStoreAndServer(at index: Int) async throws {
        let item = Self.policies[index]
        for usesFoundation in [false, true] {
            let server = CacheServer { cacheable("\($0.index)") }
            _ = await server.get()
            server.advance(by: item.age)
            var request = URLRequest(url: try #require(URL(string: CacheServer.url)))
            if usesFoundation { request.cachePolicy = item.1 }
            let made = server.session.request(request)
            if !usesFoundation { made.cachePolicy(item.0) }
            let response = await made.response()
            #expect(response.text == item.text && response.cacheStatus == item.4, "\(usesFoundation) \(response)")
            // If the policy reloaded the response, it has replaced the stored one.
            #expect(await server.get(policy: .onlyStored).text == item.text)
        }
    }

    @Test func onlyStoredFailsIfNothingIsStored() async {
        let server = CacheServer { _ in cacheable("hello") }
        #expect(await server.get(policy: .onlyStored).error?.code == .notInCache)
        #expect(await server.get("a", ["Cache-Control": "only-if-cached"]).error?.code == .notInCache)
        #expect(server.sent == 0)
    }

    @Test(arguments: [HTTPMethod.post, .delete])
    func onlyStoredSendsNothing(method: HTTPMethod) async {
        let server = CacheServer { _ in cacheable("hello") }
        #expect(
            await server.session.request(CacheServer.url, method: method).cachePolicy(.onlyStored).response().error?
                .code == .notInCache)
        #expect(
            await server.session.upload(Data("x".utf8), to: CacheServer.url, method: method).cachePolicy(.onlyStored)
                .response().error?.code == .notInCache)
        #expect(server.sent == 0)
    }

    // MARK: Users

    @Test func responsesAreKeptApartByCredentials() async {
        let server = CacheServer { cacheable($0.headers["Authorization"] ?? "none") }
        for user in ["one", "two"] { #expect(await server.get("a", ["Authorization": user]).text == user) }
        #expect(await server.get().text == "none")
        let again = await server.get("a", ["Authorization": "one"])
        #expect(again.text == "one" && again.cacheStatus == .hit)
        await server.cache.remove(for: URL(string: CacheServer.url)!)
        #expect(await server.get("a", ["Authorization": "two"]).cacheStatus == .miss)
    }

    @Test func responseToAuthenticatedRequestIsNotShared() async {
        let server = CacheServer(mode: .shared) { _ in cacheable("secret") }
        let request = server.session.request(CacheServer.url).authenticate(username: "a", password: "b")
        _ = await request.response()
        #expect(await server.get().cacheStatus == .miss)
    }

    @Test func challengesAreNotStored() async {
        let server = CacheServer { request in
            var response = MockResponse.status(401, headers: ["Cache-Control": "max-age=60"])
            response.headers.append(name: "WWW-Authenticate", value: "Basic realm=\"a\"")
            return response
        }
        _ = await server.get()
        #expect(await server.get().cacheStatus == .miss)
    }

    // MARK: Other methods

    @Test func successfulPOSTInvalidatesStoredResponse() async {
        let server = CacheServer { request in
            request.method == .post ? .status(201, headers: ["Location": "/b"]) : cacheable("\(request.index)")
        }
        for path in ["a", "b", "c"] { _ = await server.get(path) }
        let post = await server.session.request(CacheServer.url, method: .post).response()
        #expect(post.cacheStatus == .bypassed(.method))
        #expect(await server.get("a").cacheStatus == .miss)
        #expect(await server.get("b").cacheStatus == .miss)
        #expect(await server.get("c").cacheStatus == .hit)
    }

    @Test func failedPOSTInvalidatesStoredResponse() async {
        let server = CacheServer { request in
            request.method == .post ? .failing(CurlewError(.receiveFailed, phase: .receive)) : cacheable("a")
        }
        _ = await server.get()
        _ = await server.session.request(CacheServer.url, method: .post).response()
        #expect(await server.get().cacheStatus == .miss)
    }

    @Test func storedGETAnswersHEADAndIsUpdatedByIt() async {
        let server = CacheServer { request in
            if request.method == .get { return cacheable("hello", "max-age=60", ["ETag": "\"e\""]) }
            let tag = request.index < 2 ? "\"e\"" : "\"f\""
            return .status(200, headers: ["ETag": tag, "X": "new", "Cache-Control": "max-age=60"])
        }
        _ = await server.get()
        func head() async -> DataResponse<Data?, CurlewError> {
            await server.session.request(CacheServer.url, method: .head).response()
        }
        let served = await head()
        #expect(served.cacheStatus == .hit && served.data == nil && served.head?.headers["Content-Length"] == "5")
        server.advance(by: 61)
        #expect(await head().cacheStatus == .miss)
        let updated = await server.get()
        #expect(updated.cacheStatus == .hit && updated.head?.headers["X"] == "new" && updated.text == "hello")
        server.advance(by: 61)
        _ = await head()
        #expect(await server.get(policy: .onlyStored).error?.code == .notInCache)
    }

    @Test func clearSiteDataRemovesResponsesOfOrigin() async {
        let server = CacheServer { request in
            var response = cacheable("a")
            if request.path == "/out" { response.headers.append(name: "Clear-Site-Data", value: "\"cache\"") }
            return response
        }
        _ = await server.get("a")
        _ = await server.get("out")
        #expect(await server.get("a").cacheStatus == .miss)
    }

    @Test func rangesAndConditionsAreAnsweredFromStore() async {
        let server = CacheServer { _ in cacheable("0123456789", "max-age=60", ["ETag": "\"e\""]) }
        _ = await server.get()
        let part = await server.get("a", ["Range": "bytes=2-4"])
        #expect(part.head?.status == 206 && part.text == "234")
        #expect(part.head?.headers["Content-Range"] == "bytes 2-4/10")
        let unchanged = await server.get("a", ["If-None-Match": "\"e\""])
        #expect(unchanged.head?.status == 304 && unchanged.cacheStatus == .hit)
        #expect(server.sent == 1)
    }
}
