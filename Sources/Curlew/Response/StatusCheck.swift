internal import CurlewCore
internal import Foundation

/// What terminals demand of a status, and what they show of a response that they reject.
enum StatusCheck {
    private static let excerptLimit = 64 * 1024

    /// nil where the status is acceptable.
    static func error(for response: LazyResponse, body: ReceivedBody) -> CurlewError? {
        let status = response.head.status
        guard !ResponseValidation.acceptableStatusCodes.contains(status) else { return nil }
        var error = ResponseValidation.unacceptable(status)
        error.url = response.url
        error.responseBody = excerpt(of: body)
        return error
    }

    /// The body's beginning.
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
