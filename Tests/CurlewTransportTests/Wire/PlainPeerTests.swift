import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("A server without TLS at an https URL", .timeLimit(.minutes(4)))
struct PlainPeerTests {
    @Test(
        "a plain-text answer to the TLS handshake is recognized",
        arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-x\r\n"])
    func recognises(_ answer: String) async throws {
        let server = try ByteServer { peer in
            _ = peer.read()
            peer.write(answer)
            peer.untilDelivered()
            while !peer.read().isEmpty {}
        }
        defer { server.stop() }
        try await withTransport { transport, _ in
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let error = await transport.failure(request(url))
            #expect(error.code == .tlsFailed && error.reason.contains("is not TLS"), "\(error)")
            #expect(error.recoverySuggestion?.contains("http://") == true)
        }
    }

    @Test(
        .enabled(if: Capabilities.ofLibcurl.features.contains("HTTPS-proxy"), "libcurl has no TLS to proxies"),
        arguments: ["http://a.test/", "https://a.test/"])
    func `a proxy without TLS is not taken for the server`(_ text: String) async throws {
        let server = try ByteServer { peer in
            _ = peer.read()
            peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
            peer.untilDelivered()
            while !peer.read().isEmpty {}
        }
        defer { server.stop() }
        let proxy = try #require(URL(string: "https://127.0.0.1:\(server.port)"))
        try await withTransport({ $0.proxy = .url(proxy) }) { transport, _ in
            let url = try #require(URL(string: text))
            let error = await transport.failure(request(url))
            #expect(error.isTLS || error.code == .proxyFailed, "\(error)")
            #expect(!error.reason.contains("the server"), "\(error)")
            #expect(error.recoverySuggestion?.contains("begin the URL with http://") != true)
        }
    }
}
