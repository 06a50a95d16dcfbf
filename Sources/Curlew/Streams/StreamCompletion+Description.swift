internal import CurlewCore
internal import Foundation

extension DataStreamRequest.Completion: CustomStringConvertible, CustomReflectable {
    /// What was asked and how it ended, without secrets: Foundation's own description of a request has them.
    public var description: String {
        let url = request?.url.map { Redaction.redacted($0).absoluteString } ?? "no request"
        let end = error.map { "\($0)" } ?? response.map { "\($0.statusCode)" } ?? "no response"
        return "\(url): \(end)"
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
