import CurlewCore
import CurlewTesting
import Foundation
import Testing

@Suite("TestServer: reading requests", .timeLimit(.minutes(4)))
struct ServerReadingTests {
    static let upload = "POST /x HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"
    static let body = Data(repeating: 0x61, count: 100_000)

    @Test(arguments: [(TestServer.Fault.Action.close, WireClient.Ending.reset), (.reset, .reset)])
    func faultMayEndConnectionDuringTheBody(_ action: TestServer.Fault.Action, ending: WireClient.Ending) async throws {
        let server = try TestServer()
        // The fault waits until the client has sent its whole body. Some bytes are then unread, however slow the client
        // was, so the close becomes a reset.
        let gate = Gate()
        server.script(
            "/x",
            .text("never").stalling(until: gate, at: .readingBody(after: 1_000))
                .faulting(action, at: .readingBody(after: 1_000)))
        let client = try WireClient(port: server.port)
        client.send(Self.upload)
        client.send(Self.body)
        try await gate.waitForArrivals(count: 1)
        gate.open()
        client.readToEnd()
        #expect(client.received.isEmpty)
        #expect(client.ending == ending)
        try await server.waitForOpenConnections(atMost: 0)
        #expect(server.requests.isEmpty)
    }

    @Test func serverStopsReadingUntilTheGateOpens() async throws {
        var configuration = TestServer.Configuration()
        configuration.receiveBufferSize = 4_096
        let server = try TestServer(configuration)
        let gate = Gate()
        server.script("/x", .text("done").stalling(until: gate, at: .readingBody(after: 10)))
        let client = try WireClient(port: server.port)
        client.send(Self.upload)
        client.send(Self.body.prefix(10))
        try await gate.waitForArrivals(count: 1)
        #expect(server.requests.isEmpty)
        gate.open()
        client.send(Self.body.dropFirst(10))
        #expect(try client.response().text == "done")
        #expect(server.requests.first?.bodyByteCount == 100_000)
    }

    @Test func readsNoFasterThanAllowed() throws {
        let server = try TestServer()
        server.script("/x", .text("done").changed { $0.readRate = 1_000_000 })
        let client = try WireClient(port: server.port)
        let start = ContinuousClock.now
        client.send(Self.upload)
        client.send(Self.body)
        #expect(try client.response().text == "done")
        #expect(ContinuousClock.now - start > .milliseconds(90))
    }

    @Test func sendsNoFasterThanAllowed() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        let start = ContinuousClock.now
        #expect(try client.request("GET", "/bytes/100000?rate=1000000").body.count == 100_000)
        #expect(ContinuousClock.now - start > .milliseconds(90))
        // The rate applies to one response; the next one is sent at full speed.
        #expect(try client.request("GET", "/bytes/100000").body.count == 100_000)
    }

    @Test func answersWithoutReadingTheBody() throws {
        let server = try TestServer()
        server.script("/x", .status(413).changed { $0.readsBody = false })
        let client = try WireClient(port: server.port)
        client.send(Self.upload)
        let response = try client.response()
        #expect(response.status == 413)
        #expect(response.headers["Connection"] == "close")
        #expect(server.requests.first?.isBodyComplete == false)
        client.readToEnd()
        #expect(client.ending == .fin)
    }

    @Test(arguments: [TestServer.Expectation.answer, .ignore, .refuse])
    func expectFieldIsHandledAsConfigured(_ expectation: TestServer.Expectation) throws {
        let server = try TestServer()
        server.route("/x", expectation: expectation) { .text($0.bodyText ?? "") }
        let client = try WireClient(port: server.port)
        client.send("POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        switch expectation {
        case .answer:
            #expect(try client.response().status == 100)
            client.send("abc")
            #expect(try client.response().text == "abc")
        case .ignore:
            #expect(!client.readMore(patience: 20))
            client.send("abc")
            #expect(try client.response().text == "abc")
        case .refuse:
            #expect(try client.response().status == 417)
            client.readToEnd()
            #expect(client.ending == .fin)
        }
    }

    @Test func unfinishedRequestKeepsItsReceivedBytes() async throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        client.send("POST /x HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
        try await server.waitForBytesReceived(43)
        client.close()
        try await server.waitForOpenConnections(atMost: 0)
        let aborted = try #require(server.abortedRequests.first)
        #expect(aborted.bodyText == "abc")
        #expect(String(decoding: aborted.rawBytes, as: UTF8.self).hasSuffix("\r\n\r\nabc"))
        #expect(server.requests.isEmpty)
    }

    @Test("a combining mark after a separator of a request belongs to the text that follows")
    func readsHeadsByBytes() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        let mark = "\u{301}"
        client.send(
            "POST /anything/a HTTP/1.1\r\nA:\(mark)b\r\nB: \(mark)c\r\nC: d \(mark)\r\n"
                + "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 75\r\n\r\n"
                + "--x\r\nContent-Disposition: form-data; name=n\r\nX:\(mark)y\r\n\(mark)Z: z\r\n\r\nbody\r\n--x--\r\n"
        )
        #expect(try client.response().status == 200)
        let request = try #require(server.requests.first)
        #expect(request.headers["A"] == "\(mark)b")
        #expect(request.headers["B"] == "\(mark)c")
        #expect(request.headers["C"] == "d \(mark)")
        let part = try #require(request.multipartParts.first)
        #expect(part.name == "n")
        #expect(part.headers["X"] == "\(mark)y")
        #expect(part.headers["\(mark)Z"] == "z")
        // The target is a combining mark, which forms one character with the space before it.
        client.send("GET \(mark) HTTP/1.1\r\n\r\n")
        #expect(try client.response().status == 404)
        #expect(server.requests.last?.target == mark)
    }

    @Test(arguments: [
        "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    ])
    func malformedRequestIsAnsweredWith400(_ wire: String) throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        client.send(wire)
        #expect(try client.response().status == 400)
        client.readToEnd()
        #expect(client.ending == .fin)
        #expect(server.requests.isEmpty)
    }

    @Test func speaksHTTP1_0() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        client.send("GET /stream-bytes/10 HTTP/1.0\r\n\r\n")
        let response = try client.response()
        #expect(response.headers["Transfer-Encoding"] == nil)
        #expect(response.body == TestServer.patternBytes(count: 10))
        #expect(client.ending == .fin)
    }

    @Test func closesConnectionsOnRequest() async throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        #expect(try client.request("GET", "/bytes/1").status == 200)
        server.closeConnections()
        client.readToEnd()
        #expect(client.ending == .fin)
        let last = try WireClient(port: server.port)
        #expect(try last.request("GET", "/bytes/1", headers: ["Connection: close"]).status == 200)
        last.readToEnd()
        #expect(last.ending == .fin)
    }

    @Test func serverPausesIfThePeerReadsSlowly() async throws {
        var configuration = TestServer.Configuration()
        configuration.sendBufferSize = 4_096
        let server = try TestServer(configuration)
        let client = try WireClient(port: server.port, receiveBuffer: 4_096)
        client.send("GET /bytes/10000000 HTTP/1.1\r\n\r\n")
        try await server.waitForRequests(count: 1)
        try await eventually { server.bytesSent > 0 }
        // The server has sent only as much as the two small socket buffers hold.
        var sent = server.bytesSent
        while case let next = server.bytesSent, next != sent { sent = next }
        #expect(sent < 1_000_000)
        #expect(try client.response().body.count == 10_000_000)
    }

    @Test func serverStopsWaitingForPeerThatStays() async throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        #expect(try client.request("GET", "/bytes/1", headers: ["Connection: close"]).status == 200)
        try await server.waitForOpenConnections(atMost: 0)
        client.close()
    }
}
