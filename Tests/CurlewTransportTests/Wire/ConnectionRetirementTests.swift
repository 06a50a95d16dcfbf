import CurlewCore
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
            // The third is the connection's last, while the second runs on it.
            for _ in 0..<5 { try await transport.expectSuccess(get) }
            #expect(server.openConnectionCount >= 2)
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= 3 })
            gate.open()
            #expect(try await task.value == "held")
            // It closes after its last stream.
            try await transport.expectPool(of: get) { $0.open <= 1 }
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
            #expect(await eventually { sink.head != nil })
            let before = transport.statistics.connectionsMade
            while transport.statistics.connectionsMade < before + 2 {
                try await transport.expectSuccess(get)
            }
            gate.open()
            #expect(try await task.value == "held")
        }
    }

    @Test(arguments: [1, 2])
    func `retired connections that are busy count towards the limit, and requests wait for room`(
        _ limit: Int
    ) async throws {
        try await withPool(
            .http2,
            {
                $0.maximumConnectionsPerHost = limit
                $0.maximumRequestsPerConnection = 2
            }
        ) { transport, server in
            let gates = (0..<limit).map { _ in Gate() }
            server.script("/held", gates.map { .text("held").stalling(until: $0, at: .beforeHead) })
            let (get, held) = (server.url("/get"), server.url("/held"))
            var running: [Task<String, any Error>] = []
            for number in 1...limit {
                try await transport.expectSuccess(get)
                running.append(Task { try await transport.fetch(request(held)).text })
                try await server.waitForRequests(count: 2 * number)
            }
            let waiting = (0..<5).map { _ in Task { try await transport.fetch(request(get)).status } }
            let full = try await transport.pool(of: get) { $0.waiting == 5 }
            #expect(full.waiting == 5 && full.open == limit && full.inUse == limit && full.opening == 0)
            #expect(transport.statistics.connectionsMade == limit)

            // One that is cancelled, and one that has no time, do not wait for the others.
            let cancelled = Task { try await transport.fetch(request(get)).status }
            try await transport.expectPool(of: get) { $0.waiting == 6 }
            cancelled.cancel()
            let error = await #expect(throws: CurlewError.self) { try await cancelled.value }
            #expect(error?.code == .cancelled)
            let late = await transport.failure(request(get) { $0.options.timeouts.queue = .milliseconds(50) })
            #expect(late.code == .queueTimedOut)
            #expect(server.requestCount == 2 * limit)

            let peak = PeakOfConnections(of: transport)
            gates[0].open()
            #expect(try await running[0].value == "held")
            for task in waiting { #expect(try await task.value == 200) }
            for gate in gates { gate.open() }
            for task in running { #expect(try await task.value == "held") }
            #expect(await peak.value <= limit)
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= 2 })
            #expect(transport.statistics.connectionsMade == limit + 3)
        }
    }

    @Test(arguments: Wire.allCases)
    func `at the limit, a request waits for the connection that is too old and opens another`(
        _ wire: Wire
    ) async throws {
        try await withPool(
            wire,
            {
                $0.maximumConnectionsPerHost = 1
                $0.maximumConnectionAge = .milliseconds(1)
            }
        ) { transport, server in
            let gate = Gate()
            server.script("/held", .text("held").stalling(until: gate, at: .inBody(after: 2)))
            let (get, held) = (server.url("/get"), server.url("/held"))
            let sink = CollectingSink()
            let task = Task { try await transport.fetch(request(held), sink).text }
            #expect(await eventually { sink.head != nil })
            // The connection is older than a millisecond.
            try await transport.expectPool(of: get) { ($0.oldestAge ?? .zero) > .milliseconds(1) }
            let waiting = (0..<3).map { _ in Task { try await transport.fetch(request(get)).outcome.metrics } }
            try await transport.expectPool(of: get) { $0.waiting == 3 }
            #expect(server.requestCount == 1 && transport.statistics.connectionsMade == 1)
            let peak = PeakOfConnections(of: transport)
            gate.open()
            #expect(try await task.value == "held")
            for task in waiting { _ = try await task.value }
            #expect(await peak.value <= 1)
            #expect(server.requests.dropFirst().allSatisfy { $0.connection != server.requests.first?.connection })
        }
    }

    @Test(arguments: Wire.allCases, [1, 3])
    func `the limit holds while connections retire under load`(_ wire: Wire, _ limit: Int) async throws {
        try await withPool(
            wire,
            {
                $0.maximumConnectionsPerHost = limit
                $0.maximumRequestsPerConnection = 4
            }
        ) { transport, server in
            let url = server.url("/anything")
            let peak = PeakOfConnections(of: transport)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 { group.addTask { try await transport.fetch(request(url)).status } }
                for try await status in group { #expect(status == 200) }
            }
            #expect(await peak.value <= limit)
            #expect(server.requestCount == 200)
            #expect(server.requests.allSatisfy { $0.indexOnConnection <= 4 })
        }
    }

    @Test func `opening in advance opens nothing beside retired connections at the limit`() async throws {
        try await withPool(
            .http2,
            {
                $0.maximumConnectionsPerHost = 1
                $0.maximumRequestsPerConnection = 2
            }
        ) { transport, server in
            let gate = Gate()
            server.script("/held", .text("held").stalling(until: gate, at: .beforeHead))
            try await transport.expectSuccess(server.url("/get"))
            let held = server.url("/held")
            let task = Task { try await transport.fetch(request(held)).text }
            try await server.waitForRequests(count: 2)
            try await transport.prewarm(request(held), connections: 3)
            #expect(transport.statistics.connectionsMade == 1)
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

/// The most connections that a transport had at once, asked for again and again until the value is read.
private struct PeakOfConnections {
    private let task: Task<Int, Never>

    init(of transport: CurlTransport) {
        task = Task {
            var most = 0
            repeat {
                let totals = await transport.connections.totals
                most = max(most, totals.open + totals.opening)
            } while !Task.isCancelled
            return most
        }
    }

    var value: Int {
        get async {
            task.cancel()
            return await task.value
        }
    }
}
