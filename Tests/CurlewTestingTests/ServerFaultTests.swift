import CurlewTesting
import Foundation
import Testing

@Suite("TestServer: scripts and faults", .timeLimit(.minutes(4)))
struct ServerFaultTests {
    typealias Response = TestServer.Response

    struct Case: CustomTestStringConvertible {
        var name: String
        var response: Response
        /// Every byte that the client receives.
        var wire: String
        var ending: WireClient.Ending

        var testDescription: String { name }
    }

    static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 6\r\n\r\n"

    static let cases: [Case] = [
        Case(
            name: "close before reading", response: abcdef.faulting(.close, at: .beforeReading), wire: "", ending: .fin),
        Case(
            name: "reset before reading", response: abcdef.faulting(.reset, at: .beforeReading), wire: "",
            ending: .reset),
        Case(name: "close before the head", response: abcdef.faulting(.close, at: .beforeHead), wire: "", ending: .fin),
        Case(
            name: "reset before the head", response: abcdef.faulting(.reset, at: .beforeHead), wire: "", ending: .reset),
        Case(
            name: "half-close before the head",
            response: abcdef.faulting(.halfClose, at: .beforeHead),
            wire: "",
            ending: .fin
        ),
        Case(
            name: "close in the head",
            response: abcdef.faulting(.close, at: .inHead(after: 12)),
            wire: "HTTP/1.1 200",
            ending: .fin
        ),
        Case(
            name: "close in the body",
            response: abcdef.faulting(.close, at: .inBody(after: 3)),
            wire: head + "abc",
            ending: .fin
        ),
        Case(
            name: "close after the head",
            response: abcdef.faulting(.close, at: .inBody(after: 0)),
            wire: head,
            ending: .fin
        ),
        Case(
            name: "close at the end", response: abcdef.faulting(.close, at: .atEnd), wire: head + "abcdef", ending: .fin
        ),
        Case(
            name: "garbage before the head",
            response: abcdef.faulting(.garbage(Data("?!".utf8)), at: .beforeHead).faulting(.close, at: .atEnd),
            wire: "?!" + head + "abcdef",
            ending: .fin
        ),
        Case(
            name: "garbage in the body",
            response: abcdef.faulting(.garbage(Data("?!".utf8)), at: .inBody(after: 2)).faulting(.close, at: .atEnd),
            wire: head + "ab?!cdef",
            ending: .fin
        ),
        Case(
            name: "dribble",
            response: abcdef.faulting(.dribble(bytes: 20, every: .milliseconds(1)), at: .beforeHead)
                .faulting(.close, at: .atEnd),
            wire: head + "abcdef",
            ending: .fin
        ),
        Case(name: "raw bytes", response: .raw(["one", "two"]), wire: "onetwo", ending: .fin),
        Case(name: "nothing at all", response: .raw([String]()), wire: "", ending: .fin),
        Case(
            name: "delays",
            response: abcdef.delayed(by: .milliseconds(5)).faulting(.delay(.milliseconds(5)), at: .inBody(after: 1))
                .closing(),
            wire: head.replacing("6\r\n", with: "6\r\nConnection: close\r\n") + "abcdef",
            ending: .fin
        ),
    ]

    static let abcdef = Response.text("abcdef")

    @Test(arguments: cases)
    func faultAppliesToThePath(_ given: Case) throws {
        let server = try TestServer()
        server.script("/x", given.response)
        let client = try WireClient(port: server.port)
        client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(String(decoding: client.readToEnd(), as: UTF8.self) == given.wire)
        #expect(client.ending == given.ending)
    }

    @Test(arguments: cases)
    func faultAppliesToTheNextConnection(_ given: Case) throws {
        let server = try TestServer()
        server.scriptNextConnection(given.response)
        let client = try WireClient(port: server.port)
        // A script that ends before reading gets no request: unread bytes would turn the FIN into an RST.
        if !given.name.hasSuffix("before reading") { client.send("GET /anything HTTP/1.1\r\nHost: h\r\n\r\n") }
        #expect(String(decoding: client.readToEnd(), as: UTF8.self) == given.wire)
        #expect(client.ending == given.ending)
    }

    @Test func scriptIsUsedUpBeforeTheRoute() throws {
        let server = try TestServer()
        server.route("/x") { _ in .text("route") }
        server.script("/x", .status(503), .text("scripted"))
        let client = try WireClient(port: server.port)
        #expect(try (0..<4).map { _ in try client.request("GET", "/x").text } == ["", "scripted", "route", "route"])
    }

    @Test func responseStallsUntilTheGateOpens() async throws {
        let server = try TestServer()
        let gate = Gate()
        server.script("/x", .text("abcdef").stalling(until: gate, at: .inBody(after: 3)))
        let client = try WireClient(port: server.port)
        client.send("GET /x HTTP/1.1\r\n\r\n")
        try await gate.waitForArrivals(count: 1)
        while !client.received.suffix(3).elementsEqual(Data("abc".utf8)) { #expect(client.readMore()) }
        #expect(!client.readMore(patience: 20))
        gate.open()
        #expect(try client.response().text == "abcdef")
    }

    @Test func peerThatLeavesDuringStallIsNoticed() async throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        client.send("GET /hang HTTP/1.1\r\n\r\n")
        try await server.waitForRequests(count: 1)
        client.close()
        try await server.waitForOpenConnections(atMost: 0)
    }
}
