import Curlew
import CurlewCore
import Foundation
import Testing

@Suite("Trailers of real servers", .realServers, .timeLimit(.minutes(4)))
struct TrailerTests {
    /// nginx compresses this page, so it has no length.
    @Test(
        "trailers from nginx arrive over HTTP/1.1 and HTTP/2, also through caddy",
        arguments: ["NGINX", "NGINX_TLS", "CADDY"])
    func received(server: String) async throws {
        let request = try makeTrustingSession().request(try IntegrationEnvironment.url(server, "/words.json"))
        let response = await request.response()
        #expect(response.head?.version == (server == "NGINX" ? .http1_1 : .http2))
        #expect(response.trailers?["x-trailer"] == "late")
        #expect(request.trailers == response.trailers)
    }

    @Test("nghttpd's trailers follow a body with a length, for which libcurl 8.6 and later wait")
    func receivedAfterLength() async throws {
        let request = try makeTrustingSession().request(try IntegrationEnvironment.url("NGHTTPD_TLS", "/small.txt"))
        let response = await request.response()
        #expect(response.head?.version == .http2 && response.head?.headers["Content-Length"] != nil)
        let isWaiting = Capabilities.current.versionNumber >= 0x08_0600
        #expect(response.trailers?["x-trailer"] == (isWaiting ? "late" : nil))
    }

    /// The server offers HTTP/2, over which libcurl sends no trailers.
    @Test("nginx accepts several bodies with trailers one after another", arguments: ["NGINX", "NGINX_TLS"])
    func sent(server: String) async throws {
        let session = try makeTrustingSession()
        for round in 1...3 {
            let name = "\(UUID().uuidString).bin"
            let part = Data(repeating: UInt8(round), count: 50_000)
            let body = RequestBody.sequence {
                AsyncStream<Data> { continuation in
                    for _ in 0..<4 { continuation.yield(part) }
                    continuation.finish()
                }
            }
            let url = try IntegrationEnvironment.url(server, "/stored/\(name)")
            let request = session.streamRequest(url, method: .put, body: body).sendingTrailers { ["X-Count": "4"] }
            for try await _ in request.chunks {}
            #expect(request.head?.status == 201 && request.head?.version == .http1_1)
            let file = try IntegrationEnvironment.file("NGINX_STORED").appendingPathComponent(name)
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(try Data(contentsOf: file) == part + part + part + part)
        }
    }
}
