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

    /// Whether this side did not end it.
    package var isByPeer: Bool {
        switch self {
        case .closed(_, _, let byPeer): byPeer
        case .unanswered: false
        case .cut, .broken, .violated, .silent: true
        }
    }

    /// What a reader of messages gets; nil is an ordinary end.
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
