import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite(
    "Snapshots of connections",
    .enabled(if: Capabilities.ofLibcurl.quirks.asksBeforeSending, "libcurl does not ask before it sends"),
    .timeLimit(.minutes(4)))
struct ConnectionSnapshotTests {
    @Test func `a new transport has no connections`() async {
        let transport = CurlTransport()
        #expect(await transport.connections == ConnectionSnapshot())
    }

    @Test func `requests that run use their connections, and the others wait`() async throws {
        try await withPool(.plain, { $0.maximumConnectionsPerHost = 2 }) { transport, server in
            let gate = Gate()
            server.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            let held = server.url("/held")
            // More requests than libcurl gets at once, so some wait in the engine's own queue.
            let count = 400
            let tasks = (0..<count).map { _ in Task { try await transport.fetch(request(held)).status } }
            try await server.waitForRequests(count: 2)
            let busy = try await transport.pool(of: held) { $0.waiting == count - 2 }
            #expect(busy.open == 2 && busy.inUse == 2 && busy.idle == 0 && busy.opening == 0)
            #expect(busy.waiting == count - 2)
            #expect(busy.version == .http1_1)
            #expect(busy.oldestAge != nil)
            gate.open()
            for task in tasks { #expect(try await task.value == 200) }
            let quiet = try await transport.pool(of: held) { $0.inUse == 0 }
            #expect(quiet.open == 2 && quiet.idle == 2 && quiet.waiting == 0)
        }
    }

    @Test func `streams share a connection`() async throws {
        try await withPool(.http2) { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            let gate = Gate()
            server.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            let held = server.url("/held")
            let tasks = (0..<20).map { _ in Task { try await transport.fetch(request(held)).status } }
            try await server.waitForRequests(count: 21)
            let pool = try await transport.pool(of: held)
            #expect(pool.open == 1 && pool.inUse == 1 && pool.idle == 0 && pool.version == .http2)
            gate.open()
            for task in tasks { #expect(try await task.value == 200) }
            try await transport.expectPool(of: held) { $0.idle == 1 }
        }
    }

    @Test func `a paused response still uses its connection`() async throws {
        try await withPool { transport, server in
            let sink = CollectingSink()
            sink.state.withLock { $0.headAnswers = [.pause] }
            let url = server.url("/bytes/1000")
            let task = Task { try await transport.fetch(request(url), sink).sink.body.count }
            try await eventually { sink.head != nil }
            try await transport.expectPool(of: url) { $0.inUse == 1 }
            sink.control?.resumeReceiving()
            #expect(try await task.value == 1000)
        }
    }

    @Test func `byte connections are in use`() async throws {
        try await withPool { transport, server in
            let connection = try await transport.connect(request(server.url("/get")))
            let pool = try await transport.pool(of: server.url)
            #expect(pool.open == 1 && pool.inUse == 1)
            connection.close()
            try await transport.expectPool(of: server.url) { $0.open == 0 }
        }
    }

    @Test func `a connection that is being made is opening`() async throws {
        let listener = try DeafListener()
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port)/"))
        try await withPool { transport, _ in
            let task = Task { await transport.failure(request(url)) }
            let pool = try await transport.pool(of: url) { $0.opening == 1 }
            #expect(pool.opening == 1 && pool.open == 0 && pool.version == nil && pool.oldestAge == nil)
            task.cancel()
            _ = await task.value
            #expect(await transport.connections == ConnectionSnapshot())
        }
    }

    @Test func `a connection that the server ends is gone`() async throws {
        try await withPool { transport, server in
            server.script("/last", .text("last").closing())
            let answer = try await transport.fetch(request(server.url("/last")))
            #expect(answer.text == "last")
            try await transport.expectPool(of: server.url) { $0.open == 0 }
            try await transport.expectSuccess(server.url("/get"))
            #expect(transport.statistics.connectionsMade == 2)
        }
    }

    @Test func `origins are counted apart`() async throws {
        try await withPool { transport, server in
            let other = try TestServer()
            defer { other.stop() }
            for url in [server.url("/get"), other.url("/get")] { _ = try await transport.fetch(request(url)) }
            let snapshot = await transport.connections
            #expect(snapshot.origins.count == 2)
            #expect(snapshot.totals.open == 2 && snapshot.totals.idle == 2)
        }
    }
}
