import CurlewCore
import CurlewTesting
import CurlewTransport
import Dispatch
import Foundation
import Testing

@Suite("Bytes that nothing has asked for", .timeLimit(.minutes(4)))
struct UnaskedBytesTests {
    /// libcurl before 8.0 took such bytes for the response to the next request.
    @Test(
        "A connection on which something comes that nothing asked for is not used again",
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
            #expect(await eventually { isThere.isOpen })
            for _ in 0..<3 {
                let next = try await transport.fetch(request(server.url))
                #expect(next.text == "ok")
            }
            #expect(await eventually { transport.statistics.connectionsMade == 2 })
        }
    }

    @Test("Connections without such bytes are used again, whatever they were opened beside")
    func others() async throws {
        try await withTransport { transport, server in
            for _ in 0..<5 {
                let answer = try await transport.fetch(request(server.url("/bytes/10")))
                #expect(answer.status == 200)
            }
            #expect(await eventually { transport.statistics.connectionsMade == 1 })
        }
    }
}
