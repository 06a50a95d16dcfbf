import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Dispatch
import Foundation
import Testing

@Suite(
    "Unsolicited bytes on idle connections",
    .enabled(if: Capabilities.ofLibcurl.quirks.asksBeforeSending, "libcurl does not ask before it sends"),
    .timeLimit(.minutes(4)))
struct UnaskedBytesTests {
    /// libcurl before 8.0 takes unsolicited bytes for the response to the next request.
    @Test(
        "an idle connection on which unsolicited bytes arrive is not reused",
        arguments: [HTTPMethod.get, .post, .head])
    func behindAResponse(method: HTTPMethod) async throws {
        let (isDone, isThere) = (DispatchSemaphore(value: 0), Gate())
        let server = try ByteServer { peer in
            while true {
                let asked = peer.readHead()
                if asked.isEmpty { return }
                if asked.hasPrefix("POST") { _ = peer.read(exactly: 4) }
                let body = asked.hasPrefix("HEAD") ? "" : "ok"
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\(body)")
                guard asked.contains(" /late ") else { continue }
                isDone.wait()
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
                peer.untilDelivered()
                isThere.open()
            }
        }
        defer {
            server.stop()
            isDone.signal()
        }
        try await withTransport { transport, _ in
            let body = method == .post ? BodySource.data(Data("body".utf8)) : .none
            let late = request(server.url.appending(path: "late"), method: method, body: body)
            let first = try await transport.fetch(late)
            #expect(first.status == 200)
            isDone.signal()
            try await eventually { isThere.isOpen }
            for _ in 0..<3 {
                let next = try await transport.fetch(request(server.url))
                #expect(next.text == "ok")
            }
            try await eventually { transport.statistics.connectionsMade == 2 }
        }
    }

    @Test("a connection that libcurl opened to repeat a request is checked for unsolicited bytes")
    func onAConnectionOfARepetition() async throws {
        let (connections, isRead, isThere) = (Lock(0), DispatchSemaphore(value: 0), Gate())
        let server = try ByteServer { peer in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            while true {
                let asked = peer.readHead()
                // The server closes the first connection when it is reused.
                if asked.isEmpty || number == 1 && !asked.contains(" /first ") { return }
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                guard number == 2, !isThere.isOpen else { continue }
                isRead.wait()
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
                peer.untilDelivered()
                isThere.open()
            }
        }
        defer {
            server.stop()
            isRead.signal()
        }
        try await withTransport { transport, _ in
            let first = try await transport.fetch(request(server.url.appending(path: "first")))
            #expect(first.text == "ok")
            let repeated = try await transport.fetch(request(server.url))
            #expect(repeated.text == "ok")
            isRead.signal()
            try await eventually { isThere.isOpen }
            for _ in 0..<2 {
                let next = try await transport.fetch(request(server.url))
                #expect(next.text == "ok")
            }
            #expect(connections.withLock { $0 } == 3)
        }
    }

    /// From a record that also holds bytes behind the response, libcurl takes only the response. The TLS library
    /// keeps the rest, so the socket does not show it.
    @Test(
        "bytes behind a response, in the same TLS record, are not taken for the next response",
        .enabled(if: Capabilities.ofLibcurl.usesOpenSSL))
    func withinARecord() async throws {
        var configuration = TestServer.Configuration()
        configuration.tls = TestServer.TLS()
        let server = try TestServer(configuration)
        defer { server.stop() }
        var late = TestServer.Response.raw([
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "okHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        ])
        late.closesConnection = false
        server.script("/late", late)
        try await withTransport({
            $0.tls.trustRoots = server.trustRoots
            $0.httpVersion = .http1_1
        }) { transport, _ in
            let first = try await transport.fetch(request(server.url("/late")))
            #expect(first.text == "ok")
            let next = try await transport.fetch(request(server.url("/bytes/10")))
            #expect(next.text != "evil")
            try await eventually { transport.statistics.connectionsMade == 2 }
        }
    }

    @Test("connections without unsolicited bytes are reused")
    func others() async throws {
        try await withTransport { transport, server in
            for _ in 0..<5 {
                let answer = try await transport.fetch(request(server.url("/bytes/10")))
                #expect(answer.status == 200)
            }
            try await eventually { transport.statistics.connectionsMade == 1 }
        }
    }
}
