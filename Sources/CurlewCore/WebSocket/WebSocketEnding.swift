/// How a WebSocket ended.
package enum WebSocketEnding: Sendable {
    /// Close frames went both ways; the code and the reason are the peer's.
    case closed(WebSocketCloseCode, reason: String, byPeer: Bool)
    /// This side closed, and the peer did not answer.
    case unanswered
    /// The connection ended without a close frame.
    case cut
    /// The connection broke.
    case broken(CurlewError)
    /// The peer broke the rules.
    case violated(WebSocketViolation)
    /// A pong did not come in time.
    case silent(after: Duration)

    /// The code that the user sees.
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
}
