import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// A connection is opened by a transfer that ends in its prerequest callback, where CURLOPT_CONNECT_ONLY is set. These
/// tests fail if a libcurl looks at the option at another time, or does not use such a connection again.
@Suite(
    "Prewarming",
    .enabled(if: Capabilities.ofLibcurl.quirks.asksBeforeSending, "libcurl does not ask before it sends"),
    .timeLimit(.minutes(4)))
struct PrewarmingTests {
    private func fetch(_ count: Int, _ url: URL, _ transport: CurlTransport) async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await transport.fetch(request(url)).status } }
            for try await status in group { #expect(status == 200) }
        }
    }

    @Test(arguments: Wire.allCases)
    func `a request uses the connection, over which nothing was sent`(_ wire: Wire) async throws {
        try await withPool(wire) { transport, server in
            try await transport.prewarm(request(server.url("/get")), connections: 1)
            #expect(server.requestCount == 0)
            let pool = try await transport.pool(of: server.url)
            #expect(pool.open == 1 && pool.idle == 1 && pool.version == wire.version)
            let answer = try await transport.fetch(request(server.url("/get")))
            #expect(answer.outcome.metrics.isConnectionReused)
            #expect(answer.outcome.head.version == wire.version)
            #expect(transport.statistics.connectionsMade == 1)
            #expect(server.connectionCount == 1)
        }
    }

    @Test(arguments: [Wire.plain, .tls])
    func `as many connections are opened as are asked for`(_ wire: Wire) async throws {
        try await withPool(wire) { transport, server in
            try await transport.prewarm(request(server.url("/get")), connections: 4)
            #expect(transport.statistics.connectionsMade == 4)
            try await transport.expectPool(of: server.url) { $0.idle == 4 }
            let gate = Gate()
            server.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            let held = server.url("/held")
            let tasks = (0..<4).map { _ in Task { try await transport.fetch(request(held)).text } }
            try await server.waitForRequests(count: 4)
            gate.open()
            for task in tasks { #expect(try await task.value == "held") }
            #expect(transport.statistics.connectionsMade == 4)
        }
    }

    @Test func `idle connections count`() async throws {
        try await withPool { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            try await transport.prewarm(request(server.url("/get")), connections: 1)
            #expect(transport.statistics.connectionsMade == 1)
            try await transport.prewarm(request(server.url("/get")), connections: 3)
            #expect(transport.statistics.connectionsMade == 3)
            try await transport.prewarm(request(server.url("/get")), connections: 3)
            #expect(transport.statistics.connectionsMade == 3)
            try await transport.prewarm(request(server.url("/get")), connections: 0)
            #expect(transport.statistics.connectionsMade == 3)
        }
    }

    @Test func `one connection of HTTP/2 is enough`() async throws {
        try await withPool(.http2) { transport, server in
            try await transport.prewarm(request(server.url("/get")), connections: 5)
            #expect(transport.statistics.connectionsMade == 1)
            try await fetch(20, server.url("/get"), transport)
            #expect(server.connectionCount == 1)
        }
    }

    @Test func `the limit of the host holds`() async throws {
        try await withPool(.plain, { $0.maximumConnectionsPerHost = 2 }) { transport, server in
            try await transport.prewarm(request(server.url("/get")), connections: 10)
            #expect(transport.statistics.connectionsMade == 2)
            // While both connections are in use, there is nothing to open and nothing to wait for.
            let gate = Gate()
            server.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            let held = server.url("/held")
            let tasks = (0..<2).map { _ in Task { try await transport.fetch(request(held)).status } }
            try await server.waitForRequests(count: 2)
            try await transport.prewarm(request(server.url("/get")), connections: 2)
            gate.open()
            for task in tasks { #expect(try await task.value == 200) }
            #expect(transport.statistics.connectionsMade == 2)
        }
    }

    @Test func `connections that no request can use do not count`() async throws {
        try await withPool(.plain, { $0.maximumConnectionsPerHost = 2 }) { transport, server in
            let url = server.url("/get")
            var held: [any ByteConnection] = []
            for _ in 0..<3 { held.append(try await transport.connect(request(url), sendBuffer: 65_536)) }
            try await transport.prewarm(request(url), connections: 2)
            #expect(transport.statistics.connectionsMade == 5)
            for connection in held { connection.close() }
            try await eventually { transport.statistics.byteConnections == 0 }
        }
    }

    @Test(arguments: [Wire.plain, .tls])
    func `calls at the same time share the limit`(_ wire: Wire) async throws {
        try await withPool(wire, { $0.maximumConnectionsPerHost = 3 }) { transport, server in
            let url = server.url("/get")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { try await transport.prewarm(request(url), connections: 5) }
                }
                try await group.waitForAll()
            }
            try await transport.expectPool(of: url) { $0.idle == 3 && $0.open == 3 && $0.opening == 0 }
        }
    }

    @Test func `a request that waits for a connection is woken when its tickets have come`() async throws {
        try await withPool(.tls, { $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let url = server.url("/get")
            let prewarming = Task { try await transport.prewarm(request(url), connections: 1) }
            try await transport.expectPool(of: url) { $0.opening + $0.open == 1 }
            // Without a connect timeout, libcurl has no timer that would wake the request by chance.
            let answer = try await transport.fetch(request(url) { $0.options.timeouts.connect = nil })
            #expect(answer.status == 200)
            try await prewarming.value
        }
    }

    // With GnuTLS libcurl notices only while it sends that a connection of HTTP/2 has ended, and does not try again.
    @Test(arguments: Wire.allCases.filter { $0 != .http2 || !Capabilities.ofLibcurl.usesTLS("GnuTLS") })
    func `a connection that the server closes meanwhile costs no request`(_ wire: Wire) async throws {
        try await withPool(wire) { transport, server in
            try await transport.prewarm(request(server.url("/get")), connections: 1)
            // The system completes a plain connection before the server accepts it.
            try await server.waitForConnections(count: 1)
            server.closeConnections()
            try await server.waitForOpenConnections(atMost: 0)
            try await transport.expectSuccess(server.url("/get"))
            // An idle connection that has ended does not count.
            server.closeConnections()
            try await server.waitForOpenConnections(atMost: 0)
            try await transport.prewarm(request(server.url("/get")), connections: 1)
            let next = try await transport.fetch(request(server.url("/get")))
            #expect(next.status == 200)
            // An old libcurl may take a connection of HTTP/2 for alive until it sends.
            if wire != .http2 { #expect(next.outcome.metrics.isConnectionReused) }
        }
    }

    @Test func `a host that refuses is a typed error`() async throws {
        let server = try TestServer()
        let url = server.url("/get")
        server.stop()
        try await withPool { transport, _ in
            let error = await #expect(throws: CurlewError.self) {
                try await transport.prewarm(request(url), connections: 3)
            }
            #expect(error?.code == .connectFailed)
            #expect(error?.url == url)
            #expect(error?.isSafeToRetry == true)
            #expect(await transport.connections == ConnectionSnapshot())
        }
    }

    @Test func `a host that does not respond is a timeout`() async throws {
        let listener = try DeafListener()
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port)/"))
        try await withPool { transport, _ in
            let error = await #expect(throws: CurlewError.self) {
                try await transport.prewarm(
                    request(url) { $0.options.timeouts.connect = .milliseconds(100) }, connections: 1)
            }
            #expect(error?.code == .connectTimedOut)
            #expect(await transport.connections == ConnectionSnapshot())
        }
    }

    @Test(arguments: [Wire.tls, .http2])
    func `a total timeout that expires while a connection settles is no error`(_ wire: Wire) async throws {
        try await withPool(wire) { transport, server in
            let hurried = request(server.url("/get")) { $0.options.timeouts.total = .milliseconds(200) }
            // On a busy machine the timeout may end the handshake, and then there is no connection. With libcurl from
            // 8.2 on, a connection of HTTP/2 does not settle.
            while true {
                do throws(CurlewError) {
                    try await transport.prewarm(hurried, connections: 1)
                    break
                } catch {
                    try #require(error.code == .totalTimedOut, "\(error)")
                    try await transport.expectPool(of: server.url) { $0.open == 0 }
                }
            }
            try await transport.expectPool(of: server.url) { $0.idle == 1 }
        }
    }

    /// The server's version is not known yet.
    @Test func `while all connections are being opened there is nothing to open`() async throws {
        let listener = try DeafListener()
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port)/"))
        try await withPool(.plain, { $0.maximumConnectionsPerHost = 2 }) { transport, _ in
            let tasks = (0..<2).map { _ in
                Task { await transport.failure(request(url) { $0.options.timeouts.connect = nil }) }
            }
            try await transport.expectPool(of: url) { $0.opening == 2 }
            // Without timeouts, it would wait for ever.
            try await transport.prewarm(
                request(url) { $0.options.timeouts = Timeouts(connect: nil, queue: nil) }, connections: 2)
            #expect(try await transport.pool(of: url).opening == 2)
            for task in tasks {
                task.cancel()
                #expect(await task.value.code == .cancelled)
            }
        }
    }

    @Test func `if other hosts use all connections, the wait is short and no error`() async throws {
        try await withPool(.plain, { $0.maximumConnections = 1 }) { transport, server in
            let other = try TestServer()
            defer { other.stop() }
            let gate = Gate()
            other.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            let held = other.url("/held")
            let task = Task { try await transport.fetch(request(held)).status }
            try await other.waitForRequests(count: 1)
            try await transport.prewarm(
                request(server.url("/get")) {
                    $0.options.timeouts.connect = .milliseconds(100)
                    $0.options.timeouts.queue = nil
                }, connections: 1)
            #expect(transport.statistics.connectionsMade == 1)
            gate.open()
            #expect(try await task.value == 200)
        }
    }

    @Test func `cancellation leaves nothing behind`() async throws {
        let listener = try DeafListener()
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port)/"))
        try await withPool { transport, _ in
            let task = Task { try await transport.prewarm(request(url), connections: 2) }
            try await transport.expectPool(of: url) { $0.opening == 1 }
            task.cancel()
            let error = await #expect(throws: CurlewError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(await transport.connections == ConnectionSnapshot())
            try await eventually { transport.statistics.easyHandlesInUse == 0 }
        }
    }

    @Test func `a server that is not trusted gets no connection`() async throws {
        try await withPool(.tls, { $0.tls.trustRoots = .system }) { transport, server in
            let error = await #expect(throws: CurlewError.self) {
                try await transport.prewarm(request(server.url("/get")), connections: 1)
            }
            #expect(error?.isTLS == true)
            try await transport.expectPool(of: server.url) { $0.open == 0 }
        }
    }

    @Test func `a plain connection of HTTP/2 is unsupported`() async throws {
        try await withPool(.plain, { $0.httpVersion = .http2PriorKnowledge }) { transport, server in
            let error = await #expect(throws: CurlewError.self) {
                try await transport.prewarm(request(server.url("/get")), connections: 1)
            }
            #expect(error?.code == .unsupported)
            #expect(transport.statistics.connectionsMade == 0)
        }
    }

    @Test func `an ended transport is closed`() async throws {
        try await withPool { transport, server in
            await transport.shutdown()
            let error = await #expect(throws: CurlewError.self) {
                try await transport.prewarm(request(server.url("/get")), connections: 1)
            }
            #expect(error?.code == .sessionClosed)
            #expect(await transport.connections == ConnectionSnapshot())
        }
    }

    @Test func `an older libcurl cannot`() async throws {
        var capabilities = Capabilities.ofLibcurl
        (capabilities.version, capabilities.versionNumber) = ("7.79.1", 0x074F01)
        let transport = CurlTransport(configuration: TransportConfiguration(), capabilities: capabilities)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let error = await #expect(throws: CurlewError.self) {
            try await transport.prewarm(request(url), connections: 1)
        }
        #expect(error?.code == .unsupported)
        #expect(error?.reason.contains("libcurl 7.80") == true)
    }
}
