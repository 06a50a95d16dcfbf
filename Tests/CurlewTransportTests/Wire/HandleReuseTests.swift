import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Handles that were used before", .timeLimit(.minutes(4)))
struct HandleReuseTests {
    /// libcurl 7.88 keeps the receive buffer of a handle that had no connection, and refuses to change its size.
    @Test(
        "a handle whose request failed before it had a connection serves any request",
        arguments: [TransferPurpose.file, .stream])
    func afterAFailedLookup(purpose: TransferPurpose) async throws {
        try await withTransport { transport, server in
            let nowhere = try #require(URL(string: "http://nowhere.invalid/"))
            #expect(await transport.failure(request(nowhere)).code == .resolveFailed)
            let answer = try await transport.fetch(request(server.url("/bytes/10")) { $0.options.purpose = purpose })
            #expect(answer.status == 200)
        }
    }

    /// libcurl 7.83 to 8.1.0 appends a leading folded line to memory that it has freed, which may crash the process
    /// (curl issue 11101).
    @Test(
        "a head that begins with a folded line is refused, and later responses are not affected",
        arguments: [" X: y\r\n", "\tX: y\r\n", " \r\n", "HTTP/1.1 103 Early Hints\r\n X: y\r\n"])
    func leadingFold(lines: String) async throws {
        let head = lines.hasPrefix("HTTP") ? "" : "HTTP/1.1 200 OK\r\n"
        let server = try ByteServer { peer in
            while true {
                let asked = peer.readHead()
                if asked.isEmpty { return }
                let fields = "Server: test\r\nX: one\r\n two\r\nContent-Length: 2\r\n\r\nok"
                peer.write(asked.contains(" /folded ") ? head + lines + fields : "HTTP/1.1 200 OK\r\n" + fields)
            }
        }
        defer { server.stop() }
        try await withTransport { transport, _ in
            let folded = server.url.appending(path: "folded")
            #expect(await transport.failure(request(folded)).code == .protocolViolation)
            for _ in 0..<20 {
                let answer = try await transport.fetch(request(server.url))
                #expect(answer.outcome.head.headers["X"] == "one two")
                #expect(await transport.failure(request(folded)).code == .protocolViolation)
            }
        }
    }
}
