import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Byte connections over TLS", .enabled(if: RealServers.areUp), .timeLimit(.minutes(4)))
struct ByteConnectionTLSTests {
    @Test func handwrittenRequestOverTLSIsAnswered() async throws {
        try await withSecureTransport { transport in
            let url = try RealServers.url("NGINX_TLS", "/small")
            let connection = try await transport.connect(request(url))
            #expect(connection.metrics.tlsVersion != nil)
            #expect(connection.metrics.tlsEstablished != nil)
            let host = try #require(url.host())
            try await connection.send(Array("GET /small HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n".utf8))
            var all: [UInt8] = []
            while let bytes = try await connection.receive(maximum: 7) { all += bytes }
            #expect(String(decoding: all, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
            let error = await #expect(throws: CurlewError.self) { try await connection.finishSending() }
            #expect(error?.code == .unsupported)
        }
    }

    @Test func byteConnectionRefusesExpiredCertificate() async throws {
        try await withSecureTransport { transport in
            let error = await #expect(throws: CurlewError.self) {
                _ = try await transport.connect(request(try RealServers.url("NGINX_EXPIRED", "/")))
            }
            #expect(error?.code == .certificateExpired)
        }
    }

    @Test func byteConnectionRefusesUnpinnedKey() async throws {
        try await withSecureTransport({
            $0.tls.publicKeyPins = ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        }) {
            transport in
            let error = await #expect(throws: CurlewError.self) {
                _ = try await transport.connect(request(try RealServers.url("NGINX_TLS", "/")))
            }
            #expect(error?.isTLS == true)
        }
    }
}
