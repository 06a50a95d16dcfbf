import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Simultaneous requests for one response.
@Suite struct CacheCollapseTests {
    /// A server that responds when the gate is open.
    private func server(heldBy gate: Gate) -> CacheServer {
        CacheServer { _ in
            try await gate.wait()
            return cacheable("hello")
        }
    }

    private func many(
        _ count: Int,
        _ server: CacheServer,
        _ fields: @escaping @Sendable (Int) -> HTTPHeaders = { _ in [:] }
    ) async -> [DataResponse<Data?, CurlewError>] {
        await withTaskGroup(of: DataResponse<Data?, CurlewError>.self) { group in
            for number in 0..<count { group.addTask { await server.get("a", fields(number)) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func thousandEqualRequestsSendOne() async {
        let server = CacheServer { _ in cacheable("hello") }
        let responses = await many(1000, server)
        #expect(responses.allSatisfy { $0.text == "hello" })
        #expect(server.sent == 1)
        let statistics = server.cache.statistics
        #expect(statistics.misses == 1 && statistics.hits + statistics.collapsed == 999)
    }

    @Test(
        "equal calls of a middleware's next share one exchange, unless they send no-cache",
        arguments: [false, true])
    func callsOfNext(asksServer: Bool) async throws {
        let server = CacheServer { _ in cacheable("hello") }
        let twice = Wrap { request, next in
            var request = request
            if asksServer { request.setValue("no-cache", forHTTPHeaderField: "Cache-Control") }
            let sent = request
            async let first = next(sent)
            async let second = next(sent)
            _ = try await first
            return try await second
        }
        let text = try await server.session.request(CacheServer.url).middleware(twice).string()
        #expect(text == "hello")
        #expect(server.sent == (asksServer ? 2 : 1))
    }

    @Test func waitersGetTheResponseOfTheFirst() async throws {
        let gate = Gate()
        let server = server(heldBy: gate)
        async let responses = many(10, server)
        _ = try await server.transport.waitForRequests(count: 1)
        gate.open()
        let all = await responses
        #expect(all.allSatisfy { $0.text == "hello" } && server.sent == 1)
        #expect(server.transport.requests.count == 1)
        #expect(all.filter { $0.cacheStatus == .miss }.count == 1)
        #expect(server.cache.statistics.collapsed + server.cache.statistics.hits == 9)
    }

    @Test func noStoreResponsesAreNotCollapsed() async {
        let server = CacheServer { cacheable("\($0.index)", "no-store") }
        let texts = Set(await many(20, server).compactMap(\.text))
        #expect(texts.count == 20 && server.sent == 20)
    }

    @Test func eachVariantIsRequestedFromTheServer() async {
        let server = CacheServer { cacheable($0.headers["X"] ?? "", "max-age=60", ["Vary": "X"]) }
        let responses = await many(30, server) { ["X": "\($0 % 3)"] }
        #expect(Set(responses.compactMap(\.text)) == ["0", "1", "2"])
        #expect(server.sent >= 3)
        for number in 0..<3 { #expect(await server.get("a", ["X": "\(number)"]).cacheStatus == .hit) }
    }

    @Test func cancelledWaiterDoesNotEndTheOthers() async throws {
        let gate = Gate()
        let server = server(heldBy: gate)
        async let first = server.get()
        _ = try await server.transport.waitForRequests(count: 1)
        let (waiter, task) = try await server.beginWaiter()
        waiter.cancel()
        #expect(await task.value.error?.code == .cancelled)
        gate.open()
        #expect(await first.text == "hello")
    }

    @Test func nextWaiterSendsRequestIfFirstIsCancelled() async throws {
        let gate = Gate()
        let server = CacheServer { request in
            if request.index == 0 { try await gate.wait() }
            return cacheable("\(request.index)")
        }
        let leader = server.session.request(CacheServer.url)
        let task = Task { await leader.response() }
        _ = try await server.transport.waitForRequests(count: 1)
        async let others = many(10, server)
        leader.cancel()
        #expect(await task.value.error?.code == .cancelled)
        #expect(await others.allSatisfy { $0.text == "1" })
        #expect(server.sent == 2)
    }

    @Test func resumedWaiterContinuesWaiting() async throws {
        let gate = Gate()
        let server = server(heldBy: gate)
        async let first = server.get()
        _ = try await server.transport.waitForRequests(count: 1)
        let (waiter, task) = try await server.beginWaiter()
        for _ in 0..<100 {
            waiter.suspend()
            waiter.resume()
            await Task.yield()
        }
        gate.open()
        #expect(await first.text == "hello")
        #expect(await task.value.error == nil)
        #expect(server.sent == 1)
    }

    @Test func firstByteTimeoutOfWaiterEndsWithTheHead() async throws {
        let gate = Gate()
        let server = CacheServer { request in
            if request.path == "/b" { try await gate.wait() }
            var response = cacheable("hello")
            response.body = [.bytes(Data("hel".utf8)), .wait(gate), .bytes(Data("lo".utf8))]
            return response
        }
        async let first = server.get()
        async let other = server.get("b")
        // The head of `a` has arrived; `b` is held before its head.
        try await gate.waitForArrivals(count: 2)
        func wait(for path: String) async -> DataResponse<Data?, CurlewError> {
            await server.session.request("https://example.org/" + path).timeouts { $0.firstByte = .milliseconds(30) }
                .response()
        }
        async let waiter = wait(for: "a")
        #expect(await wait(for: "b").error?.code == .firstByteTimedOut)
        gate.open()
        #expect(await waiter.text == "hello")
        #expect(await first.text == "hello")
        #expect(await other.text == "hello")
        #expect(server.sent == 2)
    }

    @Test func waitersSendAnotherRequestIfResponseStalls() async throws {
        let gate = Gate()
        let server = CacheServer { request in
            var response = cacheable("\(request.index)")
            if request.index == 0 { response.body = [.wait(gate), .bytes(Data("0".utf8))] }
            return response
        }
        async let first = server.get()
        try await gate.waitForArrivals(count: 1)
        let waiters = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let request = server.session.request(CacheServer.url)
                    return await request.timeouts { $0.idle = .milliseconds(250) }.response().text
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // Waiters share further requests: far fewer are sent than there are waiters.
        #expect(waiters.allSatisfy { $0 != nil && $0 != "0" } && server.sent < 5)
        gate.open()
        #expect(await first.text == "0")
    }

    @Test func aWaiterKeepsItsOwnTimeLimit() async throws {
        let gate = Gate()
        let server = server(heldBy: gate)
        async let first = server.get()
        _ = try await server.transport.waitForRequests(count: 1)
        let waiter = server.session.request(CacheServer.url).timeouts { $0.firstByte = .milliseconds(20) }
        #expect(await waiter.response().error?.code == .firstByteTimedOut)
        gate.open()
        #expect(await first.text == "hello")
    }
}
