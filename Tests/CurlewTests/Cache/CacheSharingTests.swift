import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Responses of one user that other users must not receive.
@Suite struct CacheSharingTests: CacheSharing {
    // MARK: Credentials outside of header fields

    private func session(_ cache: ResponseCache, _ name: String, user: String?, vary: String) -> Session {
        session(cache, name, control: "max-age=60, must-revalidate", fields: ["Vary": vary]) {
            guard let user else { return }
            $0.credentials = ["example.org": TransferAuthentication(username: user, password: "p")]
        }
    }

    @Test(arguments: ["Authorization", "Accept, authorization", "Proxy-Authorization"])
    func sharedCacheDoesNotShareResponseVaryingByCredentials(vary: String) async {
        let cache = ResponseCache(mode: .shared)
        #expect(await get(session(cache, "one", user: "one", vary: vary)) == ("one", .miss))
        #expect(await cache.store.size() == 0)
        #expect(await get(session(cache, "two", user: "two", vary: vary)) == ("two", .miss))
        // A response that was stored without credentials is not served to sessions that have some.
        #expect(await get(session(cache, "plain", user: nil, vary: vary)) == ("plain", .miss))
        #expect(await get(session(cache, "again", user: nil, vary: vary)) == ("plain", .hit))
        #expect(await get(session(cache, "three", user: "three", vary: vary)) == ("three", .miss))
        #expect(await get(session(cache, "again", user: nil, vary: vary)) == ("plain", .hit))
    }

    @Test func responseVaryingByOtherFieldsIsShared() async {
        let cache = ResponseCache(mode: .shared)
        #expect(await get(session(cache, "one", user: "one", vary: "Accept")) == ("one", .miss))
        #expect(await get(session(cache, "two", user: "two", vary: "Accept")) == ("one", .hit))
    }

    @Test func privateCacheStoresResponsePerCredentials() async {
        let cache = ResponseCache()
        #expect(await get(session(cache, "one", user: "one", vary: "Authorization")) == ("one", .miss))
        #expect(await get(session(cache, "two", user: "two", vary: "Authorization")) == ("two", .miss))
        #expect(await get(session(cache, "again", user: "one", vary: "Authorization")) == ("one", .hit))
    }

    // MARK: Fields that cannot be read

    @Test(arguments: [CacheMode.private, .shared], ["cookie authorization", "x-user;accept", "\"x-user\""])
    func responseWithMalformedVaryIsNotStored(mode: CacheMode, vary: String) async {
        let server = CacheServer(mode: mode) { cacheable($0.headers["X-User"] ?? "", "max-age=60", ["Vary": vary]) }
        #expect(await server.get("a", ["X-User": "alice"]).text == "alice")
        #expect(await server.get("a", ["X-User": "bob"]).text == "bob")
        #expect(await server.cache.store.size() == 0)
    }

    @Test(arguments: [
        "max-age=60, extension=\"x, no-store", "max-age=60, extension=\"x, private", "must-understand, x=\", no-store",
    ]) func responseWithUnclosedQuoteInCacheControlIsNotStored(control: String) async {
        let server = CacheServer(mode: .shared) { _ in cacheable("a", control) }
        _ = await server.get()
        #expect(await server.cache.store.size() == 0)
    }

    @Test(arguments: [
        "max-age=60, public =", "max-age=60, s-maxage= 60", "max-age=60, s-maxage=x", "must-revalidate =",
    ])
    func malformedCacheControlDoesNotPermitSharing(control: String) async {
        let server = CacheServer(mode: .shared) { request in cacheable(request.headers["Authorization"] ?? "", control)
        }
        #expect(await server.get("a", ["Authorization": "alice"]).text == "alice")
        #expect(await server.get("a", ["Authorization": "bob"]).text == "bob")
    }

    @Test(arguments: [true, false]) func pragmaNoCacheForcesRevalidation(byRequest: Bool) async {
        let server = CacheServer { request in
            if request.headers["If-None-Match"] != nil { return .status(304) }
            var response = MockResponse.text("a").header("ETag", "\"e\"")
            response.headers.append(name: "Expires", value: "Fri, 01 Jan 2100 00:00:00 GMT")
            if !byRequest { response.headers.append(name: "Pragma", value: "no-cache") }
            return response
        }
        let own: HTTPHeaders = byRequest ? ["Pragma": "no-cache"] : [:]
        _ = await server.get("a", own)
        #expect(await server.get("a", own).cacheStatus == .revalidated)
        if byRequest { #expect(await server.get().cacheStatus == .hit) }
    }

    // MARK: Validations

    /// The fields of a validation's response, the credentials of its request, and whether the stored response may still
    /// be served to others.
    static let news: [(fields: HTTPHeaders, authorization: String?, stays: Bool)] = [
        (["Cache-Control": "private, max-age=60", "X-Account": "bob"], "bob", false),
        (["Cache-Control": "no-store", "X-Account": "bob"], nil, false),
        (["Cache-Control": "public, max-age=60", "Vary": "Accept-Language"], nil, false),
        (["Cache-Control": "public, max-age=60", "Vary": "*"], nil, false),
        (["Cache-Control": "public, max-age=60"], "bob", true),
        (["Cache-Control": "max-age=60"], nil, true),
    ]

    @Test(arguments: news.indices, [false, true])
    func fieldsOfValidationAreStoredOnlyIfPermitted(at index: Int, byHead: Bool) async {
        let (fields, authorization, stays) = Self.news[index]
        let server = CacheServer(mode: .shared) { request in
            if request.index == 0 { return cacheable("0", "public, max-age=60", ["ETag": "\"e\""]) }
            if request.method == .head {
                return MockResponse.status(200, headers: fields).header("ETag", "\"e\"")
            }
            guard request.headers["If-None-Match"] == nil else { return .status(304, headers: fields) }
            return cacheable("\(request.index)")
        }
        _ = await server.get()
        server.advance(by: 61)
        var own: HTTPHeaders = [:]
        own["Authorization"] = authorization
        if byHead {
            let head = await server.session.request(CacheServer.url, method: .head, headers: own).response()
            #expect(head.cacheStatus == .miss)
        } else {
            let bobs = await server.get("a", own)
            #expect(bobs.text == "0" && bobs.cacheStatus == .revalidated)
            #expect(bobs.head?.headers["X-Account"] == fields["X-Account"])
        }
        let alices = await server.get()
        #expect(alices.cacheStatus == (stays ? .hit : .miss))
        #expect(alices.text == (stays ? "0" : "2") && alices.head?.headers["X-Account"] == nil)
    }

    @Test func noStoreHEADDoesNotUpdateStoredResponse() async {
        let server = CacheServer { request in
            request.method == .head
                ? .status(200, headers: ["ETag": "\"e\"", "X": "new"]) : cacheable("a", "max-age=60", ["ETag": "\"e\""])
        }
        _ = await server.get()
        let own: HTTPHeaders = ["Cache-Control": "no-store"]
        _ = await server.session.request(CacheServer.url, method: .head, headers: own).response()
        let second = await server.get()
        #expect(second.cacheStatus == .hit && second.head?.headers["X"] == nil)
    }

    @Test(arguments: [("\"new\"", true), ("W/\"new\"", false), ("\"old\"", false)])
    func a304OfAnotherVersionUpdatesNothing(tag: String, isOther: Bool) async {
        let server = CacheServer { request in
            guard request.headers["If-None-Match"] == nil else {
                return .status(304, headers: ["ETag": tag, "Cache-Control": "max-age=60"])
            }
            return cacheable("\(request.index)", "max-age=60", ["ETag": request.index == 0 ? "\"old\"" : "\"new\""])
        }
        _ = await server.get()
        server.advance(by: 61)
        let second = await server.get()
        #expect(second.text == (isOther ? "2" : "0"))
        #expect(second.cacheStatus == (isOther ? .miss : .revalidated))
        let third = await server.get()
        #expect(third.text == second.text && third.cacheStatus == .hit)
        #expect(server.sent == (isOther ? 3 : 2))
    }

    @Test func background304OfAnotherVersionRemovesStoredResponse() async {
        let server = CacheServer { request in
            guard request.headers["If-None-Match"] == nil else {
                return .status(304, headers: ["ETag": "\"new\"", "Cache-Control": "max-age=60"])
            }
            return cacheable("\(request.index)", "max-age=1, stale-while-revalidate=60", ["ETag": "\"old\""])
        }
        _ = await server.get()
        server.advance(by: 5)
        #expect(await server.get().cacheStatus == .stale(.whileRevalidate))
        await server.session.untilCacheIsIdle()
        #expect(await server.get().text == "2")
    }

    // With the caller's own condition the server would answer about the caller's copy instead of the stored one.
    @Test(
        arguments: [
            ["If-None-Match": "\"e\""], ["If-Modified-Since": "Fri, 15 Jan 2027 08:00:00 GMT"], ["Range": "bytes=0-1"],
            ["Range": "bytes=0-1", "If-Range": "\"e\""],
        ] as [HTTPHeaders])
    func backgroundRevalidationDropsCallersConditions(own: HTTPHeaders) async throws {
        let server = CacheServer { request in
            let fields: HTTPHeaders = ["ETag": "\"e\"", "Last-Modified": "Fri, 15 Jan 2027 07:00:00 GMT"]
            return cacheable("\(request.index)23", "max-age=1, stale-while-revalidate=60", fields)
        }
        _ = await server.get()
        server.advance(by: 5)
        #expect(await server.get("a", own).cacheStatus == .stale(.whileRevalidate))
        await server.session.untilCacheIsIdle()
        let sent = try #require(server.transport.requests.last)
        #expect(sent.index == 1)
        #expect(sent.headers.values(for: "If-None-Match") == ["\"e\""])
        #expect(sent.headers["If-Modified-Since"] == "Fri, 15 Jan 2027 07:00:00 GMT")
        #expect(sent.headers["Range"] == nil && sent.headers["If-Range"] == nil)
        #expect(await server.get().text == "123")
    }

    @Test func backgroundRevalidationDropsCallersETag() async throws {
        let server = CacheServer { request in
            let fields: HTTPHeaders = ["Last-Modified": "Fri, 15 Jan 2027 07:00:00 GMT"]
            return cacheable("\(request.index)", "max-age=1, stale-while-revalidate=60", fields)
        }
        _ = await server.get()
        server.advance(by: 5)
        #expect(await server.get("a", ["If-None-Match": "\"own\""]).cacheStatus == .stale(.whileRevalidate))
        await server.session.untilCacheIsIdle()
        let sent = try #require(server.transport.requests.last)
        #expect(sent.index == 1 && sent.headers["If-None-Match"] == nil && sent.headers["If-Modified-Since"] != nil)
    }
}
