import CurlewCore
import CurlewTesting
import Foundation
import Glibc
import Testing

@Suite("TestServer: exchanges", .timeLimit(.minutes(4)))
struct ServerBasicsTests {
    @Test func keepsAConnectionForSeveralRequests() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        for index in 1...3 {
            let response = try client.request("GET", "/bytes/\(index)")
            #expect(response.status == 200)
            #expect(response.body == TestServer.patternBytes(count: index))
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.indexOnConnection) == [1, 2, 3])
    }

    @Test func answersPipelinedRequestsInOrder() throws {
        let server = try TestServer()
        server.route("/echo/{what}") { .text($0.parameters["what"] ?? "") }
        let client = try WireClient(port: server.port)
        client.send(
            "POST /echo/a HTTP/1.1\r\nContent-Length: 3\r\n\r\nGETGET /echo/b HTTP/1.1\r\n\r\nGET /echo/c HTTP/1.1\r\n\r\n"
        )
        #expect(try (0..<3).map { _ in try client.response().text } == ["a", "b", "c"])
        #expect(server.requests.map(\.bodyText) == ["GET", "", ""])
    }

    @Test func requestMayArriveSplitAnywhere() throws {
        let server = try TestServer()
        let wire =
            "POST /post?a=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n"
        let bytes = Data(wire.utf8)
        let client = try WireClient(port: server.port)
        for split in 1..<bytes.count {
            client.send(bytes.prefix(split))
            client.send(bytes.dropFirst(split))
            #expect(try client.response().status == 200)
        }
        #expect(server.requests.count == bytes.count - 1)
        for request in server.requests {
            #expect(request.bodyText == "abcde")
            #expect(request.trailers["T"] == "v")
            #expect(request.rawBytes == bytes)
        }
    }

    @Test func recordsFieldsInOrderAndCase() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        client.send("GET /x?y=z HTTP/1.1\r\nhOsT: h\r\nB: 1\r\na: 2\r\nB:3 \r\n\r\n")
        #expect(try client.response().status == 404)
        let request = try #require(server.requests.first)
        #expect(request.headers.map(\.description) == ["hOsT: h", "B: 1", "a: 2", "B: 3"])
        #expect(request.target == "/x?y=z")
        #expect(request.url == "http://h/x?y=z")
    }

    @Test func waitsForRequests() async throws {
        let server = try TestServer()
        let waiting = Task { try await server.waitForRequests(count: 2) }
        let client = try WireClient(port: server.port)
        _ = try client.request("GET", "/get")
        _ = try client.request("GET", "/get")
        #expect(try await waiting.value.count == 2)
        await #expect(throws: TestServer.WaitFailure.self) {
            try await server.waitForRequests(count: 3, timeout: .milliseconds(20))
        }
        client.close()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func endsConnectionsWhenItStops() async throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        client.send("GET /hang HTTP/1.1\r\n\r\n")
        try await server.waitForRequests(count: 1)
        server.stop()
        client.readToEnd()
        #expect(client.ending != .open)
        server.stop()
        try expectRefused {
            let server = try TestServer()
            server.stop()
            return server.port
        }
    }

    @Test func serverStopsWithItsLastReference() throws {
        try expectRefused { try TestServer().port }
    }

    /// Expects that the port refuses connections. A server of another test may get the port at once, so this makes up
    /// to five servers.
    private func expectRefused(atPortOf makeAndEnd: () throws -> Int) throws {
        for _ in 0..<5 {
            let port = try makeAndEnd()
            if (try? WireClient(port: port)) == nil { return }
        }
        Issue.record("the port still accepts connections")
    }
}

@Suite("DeadEnd", .timeLimit(.minutes(4)))
struct DeadEndTests {
    @Test func refusingDeadEndRefusesConnections() throws {
        let end = try DeadEnd(.refusing)
        let error = #expect(throws: WireClient.Failure.self) { try WireClient(port: end.port) }
        #expect(error?.text.contains("refused") == true)
    }

    @Test func silentDeadEndSendsNothing() throws {
        let end = try DeadEnd(.silent)
        let client = try WireClient(port: end.port)
        #expect(client.send("GET / HTTP/1.1\r\n\r\n"))
        #expect(!client.readMore(patience: 30))
        #expect(client.ending == .open)
    }

    @Test func saturatedDeadEndAcceptsNoConnections() throws {
        let end = try DeadEnd(.saturated)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(end.port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(code == -1 && errno == EINPROGRESS)
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        #expect(uninterrupted { poll(&entry, 1, 100) } == 0)
    }
}
