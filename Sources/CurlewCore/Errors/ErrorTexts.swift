internal import Foundation

/// Describes an error within the message of another one.
package enum Explanation {
    package static func of(_ error: any Error) -> String {
        if let error = error as? CurlewError { return error.reason.isEmpty ? error.code.rawValue : error.reason }
        // An error from another library may contain the request's URL or a part of a body, with their secrets.
        return Redaction.excerpt(of: (error as? any LocalizedError)?.errorDescription ?? "\(error)", limit: 2_000)
    }
}

extension CurlewError {
    /// Names the timeout that expired, and its value.
    package static func timeoutReason(_ code: Code, after limit: Duration?) -> String {
        let (what, name) =
            switch code {
            case .queueTimedOut: ("no connection became free", "queue")
            case .connectTimedOut: ("the connection was not established", "connect")
            case .firstByteTimedOut: ("no response began", "first-byte")
            case .idleTimedOut: ("no byte was sent or received", "idle")
            default: ("the request did not end", "total")
            }
        return "\(what) within " + (limit.map { "\($0), the \(name) timeout" } ?? "the \(name) timeout")
    }
}
