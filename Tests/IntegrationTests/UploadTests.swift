import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("Uploads to nginx", .realServers, .timeLimit(.minutes(4)))
struct UploadTests {
    /// Sends `body`, and returns the bytes that nginx stored.
    private func stored(_ body: BodySource, over server: String = "NGINX") async throws -> Data {
        let name = "\(UUID().uuidString).bin"
        let transport = try makeTrustingTransport()
        let answer = try await transport.exchange(
            IntegrationEnvironment.url(server, "/stored/\(name)"),
            method: .put,
            body: body
        )
        #expect(answer.status == 201)
        let file = try IntegrationEnvironment.file("NGINX_STORED").appendingPathComponent(name)
        defer { try? FileManager.default.removeItem(at: file) }
        return try Data(contentsOf: file)
    }

    private func pattern(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }) }

    @Test(arguments: ["NGINX", "NGINX_TLS"], [0, 1, 65_535, 65_536, 65_537, 3_000_000])
    func uploadedDataArrivesUnchanged(server: String, count: Int) async throws {
        let body = pattern(count)
        #expect(try await stored(.data(body), over: server) == body)
    }

    @Test func uploadedFileArrivesUnchanged() async throws {
        let body = pattern(2_500_000)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try body.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await stored(.file(file)) == body)
        #expect(try await stored(.file(file, range: 1_000..<2_000_001)) == body[1_000..<2_000_001])
    }

    /// The `Content-Length` of a POST without a body is tested in CurlewTransportTests: nginx accepts a POST without it.
    @Test(arguments: [BodySource.none, .data(Data("a=1".utf8))])
    func aPostReachesTheServer(_ body: BodySource) async throws {
        let answer = try await makeTransport().exchange(
            IntegrationEnvironment.url("NGINX", "/info"),
            method: .post,
            body: body
        )
        #expect(answer.status == 200)
        #expect(answer.seen("method") == "POST")
    }

    @Test func putWithoutBodySendsContentLength() async throws {
        // nginx responds 500 to a PUT that has neither a length nor chunks.
        #expect(try await stored(.none).isEmpty)
    }
}
