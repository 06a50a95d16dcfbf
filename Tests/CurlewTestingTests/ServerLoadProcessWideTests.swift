import CurlewTesting
import Foundation
import Glibc
import Testing

/// Counts threads and descriptors, which belong to the whole process.
@Suite("TestServer: load and leaks", .serialized, .timeLimit(.minutes(2)))
struct ServerLoadProcessWideTests {
    @Test func holdsHundredsOfConnectionsOnOneThread() async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(800, (Int(limit.rlim_cur) - 100) / 2)
        let server = try TestServer()
        let clients = try (0..<count).map { _ in try WireClient(port: server.port) }
        for client in clients { client.send("GET /hang HTTP/1.1\r\n\r\n") }
        try await server.waitForRequests(count: count, timeout: Duration.seconds(30).asTestBound)
        #expect(server.openConnectionCount == count)
        // A further request is answered while the held ones wait.
        #expect(try WireClient(port: server.port).request("GET", "/get").status == 200)
        for client in clients { client.close() }
        try await server.waitForOpenConnections(atMost: 0, timeout: Duration.seconds(30).asTestBound)
    }

    @Test func serverAnswersManyConnectionsAtOnce() async throws {
        let server = try TestServer()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<64 {
                group.addTask {
                    let client = try WireClient(port: server.port)
                    for _ in 0..<10 {
                        let response = try client.request("POST", "/anything", body: "body \(index)")
                        #expect(response.text.contains("body \(index)"))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(server.requestCount == 640)
    }

    @Test func stoppedAndReleasedServersLeakNothing() async throws {
        try await expectNoLeaks(
            of: [.fileDescriptors, .threads(allowing: 4)], timeout: Duration.seconds(5).asTestBound
        ) {
            for index in 0..<50 {
                let server = try TestServer()
                let client = try WireClient(port: server.port)
                client.send("GET /hang HTTP/1.1\r\n\r\n")
                _ = try WireClient(port: server.port).request("GET", "/get")
                if index.isMultiple(of: 2) { server.stop() }
            }
        }
    }

    @Test func serverMayBeStoppedFromARoute() async throws {
        let server = try TestServer()
        server.route("/stop") { [unowned server] _ in
            server.stop()
            return .text("bye")
        }
        let client = try WireClient(port: server.port)
        client.send("GET /stop HTTP/1.1\r\n\r\n")
        client.readToEnd()
        #expect(client.ending != .open)
        try await eventually { (try? WireClient(port: server.port)) == nil }
    }

    @Test func recordedDataIsBounded() async throws {
        var configuration = TestServer.Configuration()
        configuration.bodyLimit = 1_000
        configuration.rawLimit = 500
        configuration.recordLimit = 8
        configuration.recordByteLimit = 4_000
        let server = try TestServer(configuration)
        let client = try WireClient(port: server.port)
        let body = String(repeating: "x", count: 50_000)
        for _ in 0..<20 { _ = try client.request("POST", "/upload", body: body) }
        #expect(server.requestCount == 20)
        let requests = server.requests
        #expect((8...10).contains(requests.count))
        #expect(requests.reduce(0) { $0 + $1.body.count + $1.rawBytes.count } <= 4_000)
        let last = try #require(requests.last)
        #expect(last.body.count == 1_000)
        #expect(last.rawBytes.count == 500)
        #expect(last.bodyByteCount == 50_000)
        #expect(last.bodySHA256.count == 64)
    }
}
