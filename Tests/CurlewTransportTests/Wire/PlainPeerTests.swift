import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("A server without TLS at an https URL", .timeLimit(.minutes(4)))
struct PlainPeerTests {
    @Test(
        "its answer to the handshake is recognised", arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-x\r\n"])
    func recognises(_ answer: String) async throws {
        let server = try ByteServer { peer in
            _ = peer.read()
            peer.write(answer)
            peer.untilDelivered()
            while !peer.read().isEmpty {}
        }
        try await withTransport { transport, _ in
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let error = await transport.failure(request(url))
            #expect(error.code == .tlsFailed && error.reason.contains("is not TLS"), "\(error)")
            #expect(error.recoverySuggestion?.contains("http://") == true)
        }
    }
}
