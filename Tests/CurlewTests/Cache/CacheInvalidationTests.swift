import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Removals while responses are in progress.
@Suite(.timeLimit(.minutes(2))) struct CacheInvalidationTests {
    enum Removal: CaseIterable {
        case put, failedPut, url, everything, origin
    }

    private let gate = Gate()

    /// A server whose first response stops before its head or in its body.
    private func server(stopsInBody: Bool) -> CacheServer {
        let gate = gate
        return CacheServer { request in
            if request.method == .put { return .status(200) }
            if request.path == "/lost" { return .failing(CurlewError(.receiveFailed, phase: .receive)) }
            if request.path == "/out" { return MockResponse.text("bye").header("Clear-Site-Data", "\"cache\"") }
            var response = cacheable("\(request.index)")
            guard request.index == 0 else { return response }
            if stopsInBody { response.body = [.wait(gate), .bytes(Data("0".utf8))] } else { try await gate.wait() }
            return response
        }
    }

    private func remove(_ removal: Removal, _ server: CacheServer) async {
        switch removal {
        case .put: _ = await server.session.request(CacheServer.url, method: .put).response()
        case .failedPut:
            server.transport.route("/a", method: .put) { _ in .failing(CurlewError(.receiveFailed, phase: .receive)) }
            _ = await server.session.request(CacheServer.url, method: .put).response()
        case .url: await server.cache.remove(for: URL(string: CacheServer.url)!)
        case .everything: await server.cache.removeAll()
        case .origin: _ = await server.get("out")
        }
    }

    @Test(arguments: Removal.allCases, [false, true])
    func responseInProgressDuringRemovalIsNotStored(removal: Removal, stopsInBody: Bool) async throws {
        let server = server(stopsInBody: stopsInBody)
        async let first = server.get()
        try await gate.waitForArrivals(count: 1)
        await remove(removal, server)
        gate.open()
        #expect(await first.text == "0")
        let second = await server.get()
        #expect(second.text != "0" && second.cacheStatus == .miss)
        #expect(await server.get().cacheStatus == .hit)
    }

    @Test(arguments: Removal.allCases, [false, true])
    func requestAfterRemovalDoesNotWaitForEarlierOne(removal: Removal, stopsInBody: Bool) async throws {
        let server = server(stopsInBody: stopsInBody)
        async let first = server.get()
        try await gate.waitForArrivals(count: 1)
        await remove(removal, server)
        // The first request is still in progress.
        let second = await server.get()
        #expect(second.text != "0" && second.cacheStatus == .miss)
        gate.open()
        #expect(await first.text == "0")
        #expect(await server.get().text == second.text)
    }

    @Test func waiterDuringInvalidationGetsALaterResponse() async throws {
        let server = server(stopsInBody: false)
        async let first = server.get()
        try await gate.waitForArrivals(count: 1)
        let (_, waiting) = try await server.beginWaiter()
        await remove(.put, server)
        gate.open()
        #expect(await first.text == "0")
        let later = await waiting.value.text
        #expect(later != nil && later != "0")
        #expect(await server.get().text == later)
    }

    @Test func removingOtherURLsKeepsResponseInProgress() async throws {
        let server = server(stopsInBody: true)
        async let first = server.get()
        try await gate.waitForArrivals(count: 1)
        await server.cache.remove(for: URL(string: "https://example.org/b")!)
        _ = await server.session.request("https://example.org/c", method: .put).response()
        gate.open()
        #expect(await first.text == "0")
        #expect(await server.get().cacheStatus == .hit)
    }

    @Test func oldResponseDoesNotReplaceALaterOne() async throws {
        let server = server(stopsInBody: true)
        async let first = server.get()
        try await gate.waitForArrivals(count: 1)
        server.advance(by: 1)
        let second = await server.get(policy: .reload)
        #expect(second.text == "1")
        server.advance(by: 1)
        gate.open()
        #expect(await first.text == "0")
        let third = await server.get()
        #expect(third.text == "1" && third.cacheStatus == .hit)
    }

    /// A later response, and whether the stored one stays.
    static let successors: [(status: Int, control: String?, stays: Bool)] = [
        (200, "no-store", false), (404, "no-store", false), (404, nil, false), (410, "no-store", false),
        (403, "no-store", true), (429, nil, true), (302, "no-store", true), (503, nil, true),
    ]

    @Test(arguments: successors.indices, [CachePolicy.reload, .revalidate])
    func unstorableNewResponseMayRemoveStoredOne(at index: Int, policy: CachePolicy) async {
        let (status, control, stays) = Self.successors[index]
        let server = CacheServer { request in
            guard request.index == 1 else { return cacheable("\(request.index)", "max-age=60", ["ETag": "\"e\""]) }
            var response = MockResponse.status(status)
            if let control { response.headers.append(name: "Cache-Control", value: control) }
            return response
        }
        _ = await server.get()
        #expect(await server.get(policy: policy).head?.status == status)
        let later = await server.get()
        #expect(later.text == (stays ? "0" : "2") && later.cacheStatus == (stays ? .hit : .miss))
    }

    @Test func storableReloadedErrorReplacesStoredResponse() async {
        let server = CacheServer { request in
            guard request.index == 1 else { return cacheable("\(request.index)") }
            return MockResponse.status(404).header("Cache-Control", "max-age=60")
        }
        _ = await server.get()
        _ = await server.get(policy: .reload)
        let later = await server.get()
        #expect(later.head?.status == 404 && later.cacheStatus == .hit)
    }

    /// A 200 to `HEAD` confirms or outdates the stored response; other statuses do not affect it (RFC 9111, 4.3.5).
    static let heads: [(status: Int, fields: HTTPHeaders, stays: Bool)] = [
        (200, ["ETag": "\"e\""], true), (200, ["ETag": "\"new\""], false),
        (200, ["ETag": "\"e\"", "Content-Length": "7"], false), (200, [:], false), (404, [:], true), (405, [:], true),
    ]

    @Test(arguments: heads.indices) func reloadedHEADKeepsOrRemovesStoredResponse(at index: Int) async {
        let (status, fields, stays) = Self.heads[index]
        let server = CacheServer { request in
            if request.method == .head { return .status(status, headers: fields) }
            return cacheable("\(request.index)", "max-age=60", ["ETag": "\"e\""])
        }
        _ = await server.get()
        let head = server.session.request(CacheServer.url, method: .head).cachePolicy(.reload)
        #expect(await head.response().cacheStatus == .bypassed(.reload))
        let later = await server.get()
        #expect(later.text == (stays ? "0" : "2") && later.cacheStatus == (stays ? .hit : .miss))
    }

    @Test func entryDatedInTheFutureIsReplaced() async {
        let server = CacheServer { cacheable("\($0.index)") }
        _ = await server.get()
        server.advance(by: -3600)
        #expect(await server.get().text == "1")
        #expect(await server.get().text == "1")
    }

    @Test(arguments: ["https://user:password@example.org/a", "https://user@EXAMPLE.org/a#b"])
    func removingByAURLDisregardsItsCredentials(url: String) async throws {
        let server = CacheServer { cacheable("\($0.index)") }
        let url = try #require(URL(string: url))
        _ = await server.session.request(url).response()
        #expect(await server.session.request(url).response().cacheStatus == .hit)
        await server.cache.remove(for: url)
        #expect(await server.session.request(url).response().cacheStatus == .miss)
    }

    @Test func invalidationLogForgetsOldEntries() {
        let log = InvalidationLog()
        let start = log.mark
        #expect(!log.concerns("https://a/x", since: start))
        log.note([.url("https://a/x"), .origin("https://b/")])
        #expect(log.concerns("https://a/x", since: start) && log.concerns("https://b/y", since: start))
        #expect(!log.concerns("https://a/y", since: start) && !log.concerns("https://a/x", since: log.mark))
        let middle = log.mark
        for number in 0..<64 { log.note([.url("https://c/\(number)")]) }
        #expect(log.concerns("https://c/0", since: middle) && log.concerns("https://c/63", since: middle))
        #expect(!log.concerns("https://a/x", since: middle))
        // The log does not reach back this far, so every URL may be concerned.
        #expect(log.concerns("https://d/", since: start))
        log.note([.everything])
        #expect(log.concerns("https://d/", since: log.mark - 1))
    }
}
