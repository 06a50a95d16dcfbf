internal import Curlew
internal import CurlewCore
internal import CurlewTesting
internal import Foundation
internal import Testing

@Suite("HTTP/1 on the wire", .timeLimit(.minutes(4)))
struct FramingConformance {
    struct Case: CorpusCase {
        struct Expected: Decodable {
            let outcome: String?
            let status: Int?
            let reason: String?
            let body: String?
            let reusable: Bool?
        }
        let id: String
        let level: String
        let kind: String?
        let head: String?
        let segments_hex: [String]?
        let expected: Expected
        var group: String { kind ?? level }
    }

    @Test("broken responses are errors, and only connections that allow it are reused")
    func framing() async throws {
        let server = try await TestServer.start()
        var verdicts: [String: Verdict] = [:]
        for item in try Corpus.cases("h1-framing", as: Case.self) {
            verdicts[item.id] = try await item.kind == "keep-alive" ? keepAlive(item, server) : response(item, server)
        }
        try conform("h1-framing", expectedDifferences: Self.differences) { (item: Case) in
            verdicts[item.id] ?? .notCounted
        }
    }

    static let differences = [
        "h1-content-length-24": "a Content-Length that is no number is an error (RFC 9112, 6.3); browsers ignore it",
        "h1-content-length-25": "a Content-Length that is no number is an error (RFC 9112, 6.3); browsers ignore it",
        "h1-content-length-26": "a Content-Length that is no number is an error (RFC 9112, 6.3); browsers ignore it",
        "h1-content-length-28": "a Content-Length that is no number is an error (RFC 9112, 6.3); browsers ignore it",
        "h1-content-length-29": "a Content-Length that is no number is an error (RFC 9112, 6.3); browsers ignore it",
        "h1-content-length-35": "a Content-Length that is no number is an error (RFC 9112, 6.3); browsers ignore it",
        "h1-content-length-31": "030 and 30 are the same number",
        "h1-status-03": "a status code has three digits, and the first is not 0 (RFC 9112, 4)",
        "h1-status-04": "a status code has three digits, and the first is not 0 (RFC 9112, 4)",
        "h1-status-05": "a status code has three digits, and the first is not 0 (RFC 9112, 4)",
        "h1-status-06": "a status code has three digits, and the first is not 0 (RFC 9112, 4)",
        "h1-status-07": "a status code has three digits, and the first is not 0 (RFC 9112, 4)",
        "h1-lone-cr-06": "a line may end with a line feed alone (RFC 9112, 2.2)",
        "h1-ff-dup-cd-differ":
            "the first of two Content-Disposition fields counts: it names a file, and frames nothing",
        "h1-status-09": "the head is cut before its empty line: Curlew delivers no response whose head has not ended",
        "h1-keepalive-chromium-08": "libcurl looks for the beginning of the token only",
        "h1-keepalive-chromium-12": "libcurl heeds Proxy-Connection from proxies only: the connection is not re-used",
        "h1-keepalive-chromium-21": "libcurl heeds Proxy-Connection from proxies only",
        "h1-keepalive-chromium-25": "libcurl takes the last of two Connection headers that contradict each other",
    ]

    private func response(_ item: Case, _ server: TestServer) async throws -> Verdict {
        let segments = (item.segments_hex ?? []).map { Data(hex: $0) ?? Data() }
        server.script("/\(item.id)", .raw(segments, every: .milliseconds(1)))
        let request = Session().request(server.url("/\(item.id)"))
        // If the case expects a response, a redirect is that response and is not followed. Otherwise the redirect is
        // followed, and must end in an error.
        if item.expected.outcome == "response" { request.redirect(using: .doNotFollow) }
        let response = await request.response()
        if item.expected.outcome != "response" {
            return response.error == nil ? .failed("passed as \(response.response?.statusCode ?? 0)") : .passed
        }
        if let error = response.error { return .failed("\(error)") }
        if let status = item.expected.status, response.response?.statusCode != status {
            return .compare(response.response?.statusCode, status)
        }
        guard let body = item.expected.body else { return .passed }
        return .compare(String(decoding: response.data ?? Data(), as: UTF8.self), body)
    }

    private func keepAlive(_ item: Case, _ server: TestServer) async throws -> Verdict {
        let lines = (item.head ?? "").split(separator: "\n").joined(separator: "\r\n")
        let answer = TestServer.Response.raw([lines + "\r\nContent-Length: 0\r\n\r\n"]).changed {
            $0.closesConnection = false
        }
        server.script("/\(item.id)", answer, answer)
        let session = Session()
        _ = await session.request(server.url("/\(item.id)")).response()
        let second = await session.request(server.url("/\(item.id)")).response()
        return .compare(second.metrics?.isConnectionReused ?? false, item.expected.reusable ?? false)
    }
}
