internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The lines of a response's debug description.
struct ResponseDescription {
    /// The names, in lower case, of fields that the session treats as secret, in addition to those that always are.
    private let sensitiveHeaders: Set<String>

    init(sensitiveHeaders: [String]) { self.sensitiveHeaders = Set(sensitiveHeaders.map(ASCII.lowercased)) }

    func of(_ request: URLRequest) -> String {
        let headers = request.headers.sortedByName()
        return """
            [Request]: \(request.httpMethod ?? "GET") \(request.url.map { Redaction.redacted($0).absoluteString } ?? "nil")
            \(indented(fields(headers)))
            \(indented(body(request.httpBody, headers: headers)))
            """
    }

    func of(_ head: ResponseHead?, body data: Data?) -> String {
        guard let head else { return "[Response]: None" }
        return of(head) + "\n" + indented(body(data, headers: head.headers))
    }

    func of(_ head: ResponseHead?) -> String {
        guard let head else { return "[Response]: None" }
        return """
            [Response]:
                [Status Code]: \(head.status)
            \(indented(fields(head.headers.sortedByName())))
            """
    }

    func durations(network metrics: TransferMetrics?, serialization: TimeInterval) -> String {
        """
        [Network Duration]: \(metrics.map { "\($0.duration)s" } ?? "None")
        [Serialization Duration]: \(serialization)s
        """
    }

    private func fields(_ headers: HTTPHeaders) -> String {
        guard !headers.isEmpty else { return "[Headers]: None" }
        let lines = headers.map { "\($0.name): \(Redaction.value(of: $0, andOf: sensitiveHeaders))" }
        return "[Headers]:\n\(indented(lines.joined(separator: "\n")))"
    }

    private func body(_ data: Data?, headers: HTTPHeaders, limit: Int = 100_000) -> String {
        guard let data, !data.isEmpty else { return "[Body]: None" }
        let type = headers["Content-Type"] ?? ""
        guard data.count <= limit, ["json", "xml", "text"].contains(where: { type.contains($0) }) else {
            return "[Body]: \(data.count) bytes"
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return "[Body]:\n\(indented(Redaction.body(text, type: type)))"
    }

    private func indented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n")
    }
}
