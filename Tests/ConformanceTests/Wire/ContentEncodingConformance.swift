internal import Curlew
internal import CurlewCore
internal import Foundation
internal import Testing

@testable internal import CurlewTesting

@Suite("Content encodings on the wire", .timeLimit(.minutes(4)))
struct ContentEncodingConformance {
    struct Case: CorpusCase {
        struct Expected: Decodable {
            let outcome: String
            let length: Int?
            let sha256: String?
        }
        let id: String
        let headers: [[String]]
        let body_base64: String
        let expected: Expected
        var group: String { id.split(separator: "-").dropFirst().first.map(String.init) ?? "" }
    }

    @Test("encoded bodies are decoded, and bodies without the announced encoding are errors")
    func decoding() async throws {
        let server = try await TestServer.start()
        var verdicts: [String: Verdict] = [:]
        for item in try Corpus.cases("content-encoding", as: Case.self) {
            verdicts[item.id] = await evaluate(item, server)
        }
        try conform("content-encoding") { (item: Case) in verdicts[item.id] ?? .notCounted }
    }

    private func evaluate(_ item: Case, _ server: TestServer) async -> Verdict {
        var answer = TestServer.Response.data(Data(base64Encoded: item.body_base64) ?? Data())
        for field in item.headers {
            answer.headers.add(name: field[0], value: field[1])
            guard field[0].lowercased() == "content-encoding" else { continue }
            // A session does not announce codings that the running libcurl cannot decode, so servers do not send them.
            let feature = ["br": "brotli", "gzip": "libz", "zstd": "zstd"][field[1]] ?? field[1]
            if !Capabilities.current.features.contains(feature) { return .notCounted }
        }
        server.script("/\(item.id)", answer)
        let response = await Session().request(server.url("/\(item.id)")).response()
        if item.expected.outcome != "response" {
            return response.error?.code == .contentDecodingFailed
                ? .passed : .failed("ended with \(String(describing: response.error))")
        }
        if let error = response.error { return .failed("\(error)") }
        let body = response.data ?? Data()
        if let length = item.expected.length, body.count != length { return .compare(body.count, length) }
        return .compare(Digest.hex(.sha256, of: body) ?? "", item.expected.sha256 ?? "")
    }
}
