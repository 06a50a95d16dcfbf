/// The end of a WebSocket.
package enum WebSocketEnding: Sendable {
    /// The peer has sent a close frame with this code and reason. `byPeer` is `true` if it was not the answer to a
    /// close frame of this side.
    case closed(WebSocketCloseCode, reason: String, byPeer: Bool)
    /// This side sent a close frame, and the peer did not answer it.
    case unanswered
    /// The connection ended without an error and without a close frame.
    case cut
    /// The connection failed.
    case broken(CurlewError)
    /// The peer violated the protocol or a limit.
    case violated(WebSocketViolation)
    /// The peer did not answer a ping within this time.
    case silent(after: Duration)

    /// The close code to report.
    package var closeCode: WebSocketCloseCode {
        switch self {
        case .closed(let code, _, _): code
        case .unanswered, .cut, .broken, .silent: .abnormalClosure
        case .violated(let violation): violation.closeCode
        }
    }

    package var closeReason: String? {
        switch self {
        case .closed(_, let reason, _): reason.isEmpty ? nil : reason
        case .violated(let violation): violation.reason
        case .unanswered, .cut, .broken, .silent: nil
        }
    }

    /// Whether the end was caused by the peer or the connection, rather than by this side.
    package var isByPeer: Bool {
        switch self {
        case .closed(_, _, let byPeer): byPeer
        case .unanswered: false
        case .cut, .broken, .violated, .silent: true
        }
    }

    /// The error for a reader of messages; `nil` after an ordinary end.
    package var error: CurlewError? {
        switch self {
        case .closed(let code, let reason, let byPeer):
            guard byPeer, !code.isOrdinary else { return nil }
            return .webSocketClosed(code, reason: reason.isEmpty ? nil : reason)
        case .unanswered: return nil
        case .cut: return .webSocketClosed(.abnormalClosure, reason: nil)
        case .broken(let error): return error
        case .violated(let violation): return violation.error
        case .silent(let limit):
            return CurlewError(
                .idleTimedOut, phase: .receive, reason: "the peer did not answer a ping within \(limit)")
        }
    }
}

extension CurlewError {
    /// Creates the error of a closed WebSocket. `byPeer` is `false` if this side has closed it.
    package static func webSocketClosed(
        _ code: WebSocketCloseCode, reason: String?, byPeer: Bool = true
    ) -> CurlewError {
        let text =
            if !byPeer {
                "this side has closed the WebSocket"
            } else if code == .abnormalClosure {
                "the connection ended without a close frame"
            } else {
                "the peer closed the WebSocket with code \(code)"
            }
        var error = CurlewError(.webSocketClosed, phase: .receive, reason: text)
        error.closeCode = code
        error.closeReason = reason
        return error
    }
}

/// A violation by the peer, and the code with which the connection is closed because of it.
package struct WebSocketViolation: Error, Equatable {
    package let closeCode: WebSocketCloseCode
    package let reason: String

    package init(_ closeCode: WebSocketCloseCode, _ reason: String) {
        self.closeCode = closeCode
        self.reason = reason
    }

    static func brokenProtocol(_ reason: String) -> Self { Self(.protocolError, reason) }

    static func tooBig(_ what: String, limit: Int) -> Self {
        Self(.messageTooBig, "\(what) is larger than \(limit) bytes")
    }

    package var error: CurlewError {
        CurlewError(
            closeCode == .messageTooBig ? .limitExceeded : .protocolViolation, phase: .receive, reason: reason)
    }
}
