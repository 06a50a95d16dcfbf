import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite(
    "Retired connections",
    .enabled(if: Capabilities.ofLibcurl.quirks.asksBeforeSending, "libcurl does not ask before it sends"),
    .timeLimit(.minutes(4)))
struct ConnectionRetirementTests {
    @Test(arguments: Wire.allCases, [1, 3])
    func `a connection carries so many requests, one after the other`(_ wire: Wire, _ most: Int) async throws {
        try await withPool(wire, { $0.maximumRequestsPerConnection = most }) { transport, server in
            for number in 0..<7 {
                let method: HTTPMethod = number % 2 == 0 ? .get : .post
                let answer = try await transport.fetch(
                    request(
                        server.url("/anything"), method: method, body: number % 2 == 0 ? .none : .data(Data("b".utf8))))
                #expect(answer.status == 200)
            }
            #expect(transport.statistics.connectionsMade == (7 + most - 1) / most)
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= most })
            let left = 7 % most == 0 ? 0 : 1
            try await transport.expectPool(of: server.url) { $0.open == left }
        }
    }

    @Test(arguments: Wire.allCases)
    func `no connection carries more, however many requests run at once`(_ wire: Wire) async throws {
        try await withPool(wire, { $0.maximumRequestsPerConnection = 5 }) { transport, server in
            let url = server.url("/anything")
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<60 { group.addTask { try await transport.fetch(request(url)).status } }
                for try await status in group { #expect(status == 200) }
            }
            #expect(server.requestCount == 60)
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= 5 })
        }
    }

    @Test func `streams on a retired connection finish, and the next requests go elsewhere`() async throws {
        try await withPool(.http2, { $0.maximumRequestsPerConnection = 3 }) { transport, server in
            let gate = Gate()
            server.script("/held", .text("held").stalling(until: gate, at: .beforeHead))
            let (get, held) = (server.url("/get"), server.url("/held"))
            try await transport.expectSuccess(get)
            let task = Task { try await transport.fetch(request(held)).text }
            try await server.waitForRequests(count: 2)
            // The connection takes its third and last request while its second one runs.
            for _ in 0..<5 { try await transport.expectSuccess(get) }
            #expect(server.openConnectionCount >= 2)
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= 3 })
            gate.open()
            #expect(try await task.value == "held")
            // The retired connection closes after its last stream.
            try await transport.expectPool(of: get) { $0.open <= 1 }
        }
    }

    @Test func `at the limit, a retired connection holds no request back`() async throws {
        try await withPool(
            .http2,
            {
                $0.maximumConnectionsPerHost = 1
                $0.maximumRequestsPerConnection = 2
            }
        ) { transport, server in
            let gate = Gate()
            server.script("/held", .text("held").stalling(until: gate, at: .beforeHead))
            let (get, held) = (server.url("/get"), server.url("/held"))
            try await transport.expectSuccess(get)
            // This request is the second and last one of the connection.
            let task = Task { try await transport.fetch(request(held)).text }
            try await server.waitForRequests(count: 2)
            for _ in 0..<9 { try await transport.expectSuccess(get) }
            // The retired connection, and the fifth of its successors.
            try await server.waitForOpenConnections(atMost: 2)
            #expect(transport.statistics.connectionsMade == 6)
            try await transport.expectPool(of: get) { $0.open == 2 && $0.inUse == 1 }
            gate.open()
            #expect(try await task.value == "held")
            try await server.waitForOpenConnections(atMost: 1)
            try await transport.expectPool(of: get) { $0.open == 1 && $0.idle == 1 }
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= 2 })
        }
    }

    @Test func `a host has at most 33 times its connections, and then uses the last one again`() async throws {
        try await withPool(
            .http2,
            {
                $0.maximumConnectionsPerHost = 1
                $0.maximumRequestsPerConnection = 1
            }
        ) { transport, server in
            let gate = Gate()
            server.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            let (get, held) = (server.url("/get"), server.url("/held"))
            var running: [Task<String, any Error>] = []
            for number in 1...40 {
                running.append(Task { try await transport.fetch(request(held)).text })
                try await server.waitForRequests(count: number)
            }
            #expect(transport.statistics.connectionsMade == 33 && server.openConnectionCount == 33)
            #expect(server.requests.count { $0.indexOnConnection > 1 } == 7)
            gate.open()
            for task in running { #expect(try await task.value == "held") }
            // All connections but the last have closed, and the last takes no further request.
            try await server.waitForOpenConnections(atMost: 1)
            try await transport.expectSuccess(get)
            #expect(transport.statistics.connectionsMade == 34)
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    /// The test server permits a hundred streams, so the requests need several connections.
    @Test func `the host's other connections retire with the first, and those without requests close`() async throws {
        let most = 101
        try await withPool(.http2, { $0.maximumRequestsPerConnection = most }) { transport, server in
            let (first, second) = (Gate(), Gate())
            server.script(
                "/held",
                (0...most).map { number in
                    TestServer.Response.text("held").stalling(until: number < most ? first : second, at: .beforeHead)
                })
            let (get, held) = (server.url("/get"), server.url("/held"))
            let ended = Lock(0)
            let running = (0...most).map { _ in
                Task {
                    let text = try await transport.fetch(request(held)).text
                    ended.withLock { $0 += 1 }
                    return text
                }
            }
            try await server.waitForRequests(count: most + 1)
            let count = transport.statistics.connectionsMade
            #expect(count > 1)
            first.open()
            try await eventually { ended.withLock { $0 } == most }
            // One connection takes its last request, and the next request opens another connection.
            var sent = 0
            while transport.statistics.connectionsMade == count, sent < count * most {
                try await transport.expectSuccess(get)
                sent += 1
            }
            #expect(transport.statistics.connectionsMade == count + 1)
            // The connection whose request still runs, and the new connection.
            try await server.waitForOpenConnections(atMost: 2)
            #expect(ended.withLock { $0 } == most)
            second.open()
            for task in running { #expect(try await task.value == "held") }
            try await server.waitForOpenConnections(atMost: 1)
            try await transport.expectPool(of: get) { $0.open == 1 && $0.idle == 1 }
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= most })
        }
    }

    @Test(arguments: Wire.allCases)
    func `a connection that is too old is not used again`(_ wire: Wire) async throws {
        try await withPool(wire, { $0.maximumConnectionAge = .milliseconds(1) }) { transport, server in
            // Some requests may follow within the millisecond.
            var count = 0
            while transport.statistics.connectionsMade < 4, count < 10_000 {
                try await transport.expectSuccess(server.url("/get"))
                count += 1
            }
            #expect(transport.statistics.connectionsMade >= 4)
            #expect(server.requestCount == count)
        }
        try await withPool(wire, { $0.maximumConnectionAge = .seconds(3_600) }) { transport, server in
            for _ in 0..<5 { try await transport.expectSuccess(server.url("/get")) }
            #expect(transport.statistics.connectionsMade == 1)
        }
    }

    @Test(arguments: Wire.allCases)
    func `a running request is not cut when its connection gets too old`(_ wire: Wire) async throws {
        try await withPool(wire, { $0.maximumConnectionAge = .milliseconds(1) }) { transport, server in
            let gate = Gate()
            server.script("/held", .text("held").stalling(until: gate, at: .inBody(after: 2)))
            let (get, held) = (server.url("/get"), server.url("/held"))
            let sink = CollectingSink()
            let task = Task { try await transport.fetch(request(held), sink).text }
            try await eventually { sink.head != nil }
            let before = transport.statistics.connectionsMade
            while transport.statistics.connectionsMade < before + 2 {
                try await transport.expectSuccess(get)
            }
            gate.open()
            #expect(try await task.value == "held")
        }
    }

    @Test func `an upload is sent once`() async throws {
        try await withPool(.plain, { $0.maximumRequestsPerConnection = 2 }) { transport, server in
            let body = Data(repeating: 0x61, count: 300_000)
            for _ in 0..<6 {
                let answer = try await transport.fetch(
                    request(server.url("/post"), method: .post, body: .data(body)))
                #expect(answer.status == 200)
            }
            #expect(server.requestCount == 6)
            #expect(server.requests.allSatisfy { $0.bodyByteCount == 300_000 })
            #expect(transport.statistics.connectionsMade == 3)
        }
    }

    @Test func `over a Unix socket requests cannot be counted`() async throws {
        try await withPool(
            .plain,
            {
                $0.maximumRequestsPerConnection = 2
                $0.unixSocketPath = "/nonexistent"
            }
        ) { transport, server in
            let error = await transport.failure(request(server.url("/get")))
            #expect(error.code == .unsupported)
        }
    }
}
