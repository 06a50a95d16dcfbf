internal import CurlewCore
internal import Foundation

/// Rejects unacceptable statuses for awaiting methods, and explains the rejected responses.
enum StatusCheck {
    private static let excerptLimit = 64 * 1024

    /// The error for an unacceptable status; `nil` if the status is acceptable.
    static func error(for response: LazyResponse, to method: HTTPMethod?, body: ReceivedBody)
        -> CurlewError?
    {
        let status = response.head.status
        guard !ResponseValidation.acceptableStatusCodes.contains(status) else { return nil }
        var error = CurlewError.unacceptableStatus(status)
        error.url = response.url
        explain(&error, response, to: method, body: body)
        return error
    }

    /// Adds the server's explanation to an error that only knows the status or the content type: the reason phrase and
    /// the beginning of the body. A reason that a validation has set is kept.
    static func explain(
        _ error: inout CurlewError, _ response: LazyResponse?, to method: HTTPMethod?, body: ReceivedBody
    ) {
        guard error.responseBody == nil else { return }
        error.responseBody = excerpt(of: body)
        guard error.code == .unacceptableStatus, let status = error.responseCode,
            error.reason == CurlewError.unacceptableStatus(status).reason
        else { return }
        let phrase = response.map { $0.head.reason.isEmpty ? HTTPStatus(status).reasonPhrase : $0.head.reason } ?? ""
        var reason = "Response status code was unacceptable: \(status)"
        if !phrase.isEmpty { reason += " " + Redaction.excerpt(of: phrase, limit: 60) }
        if let method { reason += ", for \(method.rawValue)" }
        if let text = shown(error.responseBody, of: response?.head) { reason += ". The body: " + text }
        error.reason = reason + "."
    }

    /// The beginning of a body as text for a reason.
    static func shown(_ body: Data?, of head: ResponseHead?) -> String? {
        guard let body, !body.isEmpty else { return nil }
        return Redaction.excerpt(of: body, type: head?.headers["Content-Type"] ?? "")
    }

    /// The first bytes of a body.
    static func excerpt(of body: ReceivedBody) -> Data? {
        switch body {
        case .none, .streamed: return nil
        case .data(let data): return data.prefix(excerptLimit)
        case .file(let url):
            guard let file = try? FileHandle(forReadingFrom: url) else { return nil }
            defer { try? file.close() }
            return try? file.read(upToCount: excerptLimit)
        }
    }
}
