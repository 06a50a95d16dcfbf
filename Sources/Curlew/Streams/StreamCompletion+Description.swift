internal import CurlewCore
internal import Foundation

extension DataStreamRequest.Completion: CustomStringConvertible, CustomReflectable {
    /// The URL and the outcome without secrets, which Foundation's description of a request would show.
    public var description: String {
        let url = request?.url.map { Redaction.redacted($0).absoluteString } ?? "no request"
        let end = error.map { "\($0)" } ?? response.map { "\($0.statusCode)" } ?? "no response"
        return "\(url): \(end)"
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
