import Curlew
import CurlewCore
import Foundation
import Testing

@Suite("Trailers of real servers", .realServers, .timeLimit(.minutes(4)))
struct TrailerTests {
    private func session() throws -> Session {
        let roots = try IntegrationEnvironment.file("CA_FILE")
        return Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.tls.trustRoots = .file(roots)
            })
    }

    /// nginx compresses this page, so it has no length.
    @Test(
        "trailers from nginx arrive over HTTP/1.1 and HTTP/2, also through caddy",
        arguments: ["NGINX", "NGINX_TLS", "CADDY"])
    func received(server: String) async throws {
        let request = try session().request(try IntegrationEnvironment.url(server, "/words.json"))
        let response = await request.response()
        #expect(response.head?.version == (server == "NGINX" ? .http1_1 : .http2))
        #expect(response.trailers?["x-trailer"] == "late")
        #expect(request.trailers == response.trailers)
    }

    /// The server offers HTTP/2, over which libcurl sends no trailers.
    @Test("nginx accepts several bodies with trailers one after another", arguments: ["NGINX", "NGINX_TLS"])
    func sent(server: String) async throws {
        let session = try session()
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
