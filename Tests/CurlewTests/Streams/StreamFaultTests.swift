import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

import struct CurlewAlamofire.DataStreamTask

@testable import Curlew

@Suite("Streams against a real server", .timeLimit(.minutes(2)))
struct StreamFaultTests {
    let session = Session()

    @Test("a reader that pauses stops the sender")
    func backPressure() async throws {
        var configuration = TestServer.Configuration()
        configuration.sendBufferSize = 64 << 10
        let server = try TestServer(configuration)
        server.routeEndlessBody()
        let request = session.streamRequest(server.url("/endless"))
        var chunks = request.chunks.makeAsyncIterator()
        var read = try await chunks.next()?.count ?? 0
        let sent = try await server.bytesSentWhenStopped()
        // Bounded by the channel's marks and the kernel's buffers, however much the server would send.
        #expect(sent < 16 << 20)
        while read < 40 << 20 { read += try await chunks.next()?.count ?? 0 }
        #expect(server.bytesSent > sent)
        request.cancel()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("leaving or cancelling a reader after any number of chunks ends the transfer", arguments: 0..<12)
    func leavesAnywhere(_ count: Int) async throws {
        let server = try TestServer()
        server.routeEndlessBody()
        for isCancelled in [true, false] {
            let request = session.streamRequest(server.url("/endless"))
            let reader = Task { () -> CurlewError.Code? in
                do throws(CurlewError) {
                    var left = count
                    if left == 0, isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
                    for try await _ in request.chunks {
                        left -= 1
                        guard left <= 0 else { continue }
                        if isCancelled { withUnsafeCurrentTask { $0?.cancel() } } else { break }
                    }
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(await reader.value == (isCancelled ? .cancelled : nil))
            #expect(request.isCancelled)
        }
        try await server.waitForOpenConnections(atMost: 0)
        await session.drain()
        #expect(await session.activeRequests.isEmpty)
    }

    @Test("a cut stream delivers the bytes before the cut once, then the error", arguments: [0, 1, 1000, 300_000])
    func cut(_ offset: Int64) async throws {
        let server = try TestServer()
        server.route("/cut") { _ in .bytes(1 << 20).faulting(.close, at: .inBody(after: offset)) }
        let policy = RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.001)
        var received = Data()
        do throws(CurlewError) {
            for try await chunk in session.streamRequest(server.url("/cut"), interceptor: policy).chunks {
                received += chunk
            }
            Issue.record("no error")
        } catch {
            #expect(error.isConnectivity, "\(error)")
        }
        #expect(received == TestServer.patternBytes(count: Int(offset)))
        // An attempt is retried only if it has delivered nothing.
        #expect(server.requestCount == (offset == 0 ? 3 : 1))
    }

    @Test("a failed attempt that has delivered nothing is retried without an error for the reader")
    func retriedStatus() async throws {
        let server = try TestServer()
        server.script("/flaky", .text("busy", status: 503), .text("a\nb"))
        let policy = RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.001)
        var lines: [String] = []
        for try await line in session.streamRequest(server.url("/flaky"), interceptor: policy).lines {
            lines.append(line)
        }
        #expect(lines == ["a", "b"])
    }

    @Test("a line above the limit ends the stream with an error")
    func longLine() async throws {
        let server = try TestServer()
        server.route("/line") { _ in .text("short\n" + String(repeating: "x", count: 10_000) + "\n") }
        var lines: [String] = []
        do throws(CurlewError) {
            for try await line in session.streamRequest(server.url("/line")).maximumBodySize(1000).lines {
                lines.append(line)
            }
            Issue.record("no error")
        } catch {
            #expect(error.code == .limitExceeded)
        }
        #expect(lines == ["short"])
    }

    @Test("a body can be read as a whole after its head, up to the limit", arguments: [10_000, 9_999])
    func wholeBody(limit: Int) async throws {
        let server = try TestServer()
        let stream = session.streamRequest(server.url("/bytes/10000")).maximumBodySize(limit)
        #expect(try await stream.head().status == 200)
        do throws(CurlewError) {
            #expect(try await stream.data() == TestServer.patternBytes(count: 10_000))
            #expect(limit == 10_000)
        } catch {
            #expect(error.code == .limitExceeded)
            #expect(limit == 9_999)
        }
    }

    @Test("data() of a stream with an unacceptable status is an error, unless any status is accepted")
    func wholeBodyOfAnError() async throws {
        let server = try TestServer()
        server.route("/refused") { _ in .text("why", status: 403) }
        let error = await #expect(throws: CurlewError.self) {
            try await session.streamRequest(server.url("/refused")).data()
        }
        #expect(error?.code == .unacceptableStatus)
        let stream = session.streamRequest(server.url("/refused")).acceptingAnyStatus()
        #expect(try await String(decoding: stream.data(), as: UTF8.self) == "why")
    }

    @Test("events reconnect with the last event ID and an Accept field")
    func reconnectingEvents() async throws {
        let server = try TestServer()
        server.script(
            "/events", .text("retry: 1\nid: 1\ndata: a\n\n", type: "text/event-stream"),
            .text("id: 2\ndata: b\n\ndata: cut", type: "text/event-stream").faulting(.close, at: .inBody(after: 20)),
            .text("busy", status: 503), .text("data: c\n\n", type: "text/event-stream"), .status(204))
        var seen: [String] = []
        for try await event in session.streamRequest(server.url("/events")).events.reconnecting() {
            seen.append(event.data)
        }
        #expect(seen == ["a", "b", "c"])
        let requests = server.requests
        #expect(requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "2", "2", "2"])
        #expect(requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
    }

    /// Returns the events of a sequence, and the error that ended it.
    private func read(_ events: StreamEvents) async -> (seen: [String], error: CurlewError?) {
        var seen: [String] = []
        do throws(CurlewError) {
            for try await event in events { seen.append(event.data) }
            return (seen, nil)
        } catch {
            return (seen, error)
        }
    }

    @Test("a page instead of events is an error that ends reconnecting", arguments: ["<p>Sign in", ""])
    func pagesInPlaceOfEvents(page: String) async throws {
        let server = try TestServer()
        // The 204 ends a sequence that wrongly continues.
        server.script(
            "/events", .text("retry: 1\ndata: a\n\n", type: "text/event-stream"), .text(page, type: "text/html"),
            .status(204))
        let (seen, error) = await read(session.streamRequest(server.url("/events")).events.reconnecting())
        #expect(seen == ["a"])
        #expect(error?.code == .unacceptableContentType)
        #expect(error?.reason.contains(#""text/html" does not match any acceptable type: text/event-stream"#) == true)
        #expect(error?.responseCode == 200)
        #expect(error?.url == server.url("/events"))
        #expect(server.requests.count == 2)
    }

    @Test("a page that breaks off instead of events has the error of its content type")
    func brokenPageInPlaceOfEvents() async throws {
        let server = try TestServer()
        server.script(
            "/events", .text("<p>Sign in", type: "text/html").faulting(.close, at: .inBody(after: 5)), .status(204))
        let events = session.streamRequest(server.url("/events")).events
        let (_, error) = await read(events.reconnecting(delay: .milliseconds(1)))
        #expect(error?.code == .unacceptableContentType)
        #expect(server.requests.count == 1)
    }

    @Test(
        "reconnecting accepts only events of status 200 and their media type",
        arguments: [(200, "text/plain"), (201, "text/event-stream"), (299, "text/event-stream"), (205, nil)])
    func eventsOfAnotherKind(status: Int, type: String?) async throws {
        let server = try TestServer()
        server.route("/events") { _ in
            guard let type else { return .status(status) }
            return .text("data: a\n\n", status: status, type: type)
        }
        let (seen, error) = await read(
            session.streamRequest(server.url("/events")).events.reconnecting(delay: .milliseconds(1)))
        #expect(seen.isEmpty)
        #expect(error?.code == (status == 200 ? .unacceptableContentType : .unacceptableStatus))
        #expect(error?.responseCode == status)
        #expect(server.requests.count == 1)
        let (plain, none) = await read(session.streamRequest(server.url("/events")).events)
        #expect(plain == (type == nil ? [] : ["a"]) && none == nil)
    }

    @Test("reconnecting follows redirects and continues after a stream without events and after a 503")
    func streamsWithoutEvents() async throws {
        let server = try TestServer()
        server.script(
            "/events", .redirect(to: "/other", status: 307), .text(": none\n\n", type: "text/event-stream"),
            .text("busy", status: 503, type: "text/html"),
            .text("data: b\n\n", type: "text/event-stream; charset=utf-8"),
            .status(204))
        server.script("/other", .text("data: a\n\n", type: "text/event-stream"))
        let events = session.streamRequest(server.url("/events")).events
        let (seen, error) = await read(events.reconnecting(delay: .milliseconds(1)))
        #expect(seen == ["a", "b"])
        #expect(error == nil)
        #expect(server.requests.count == 6)
    }

    @Test("without reconnecting, a page instead of events yields no events and no error")
    func pageWithoutReconnecting() async throws {
        let server = try TestServer()
        server.script("/events", .text("<p>Sign in", type: "text/html"))
        let (seen, error) = await read(session.streamRequest(server.url("/events")).events)
        #expect(seen.isEmpty)
        #expect(error == nil)
    }

    struct Item: Codable, Sendable, Equatable { var id: Int }

    @Test("a hundred thousand lines are decoded as values, in order")
    func manyValues() async throws {
        let server = try TestServer()
        let body = Data((0..<100_000).map { "{\"id\":\($0)}\n" }.joined().utf8)
        server.route("/items") { _ in .data(body) }
        var next = 0
        for try await item in session.streamRequest(server.url("/items")).decode(Item.self) {
            #expect(item.id == next)
            next += 1
        }
        #expect(next == 100_000)
    }

    @Test("handlers on a blocked queue stop the sender")
    func slowHandlers() async throws {
        var configuration = TestServer.Configuration()
        configuration.sendBufferSize = 64 << 10
        let server = try TestServer(configuration)
        server.routeEndlessBody()
        let queue = DispatchQueue(label: "handlers")
        queue.suspend()
        var isHeld = true
        // Releasing a suspended queue crashes the process.
        defer { if isHeld { queue.resume() } }
        let request = session.streamRequest(server.url("/endless")).responseStream(on: queue) { _ in }
        try await server.waitForConnections(count: 1)
        let sent = try await server.bytesSentWhenStopped()
        #expect(sent < 16 << 20)
        request.cancel()
        queue.resume()
        isHeld = false
        try await server.waitForOpenConnections(atMost: 0)
    }
}
