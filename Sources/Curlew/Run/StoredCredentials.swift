internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The use of the session's stored credentials in one exchange.
enum StoredCredentials {
    /// The request brings credentials, none are stored, or the body cannot be sent again after a challenge.
    case none
    /// The credentials are sent along.
    case offered(TransferAuthentication)
    /// The credentials may answer a challenge.
    case mayAnswer
}

extension StoredCredentials {
    /// Returns a closure that says whether stored credentials answer a response, or `nil` if they cannot. A challenge
    /// that the session can answer is not delivered; the request is sent again with credentials.
    func answers(to url: URL, of request: Request) -> (@Sendable (ResponseHead) -> Bool)? {
        let (context, onlyBasic) = (request.context, request.offersOnlyBasic)
        switch self {
        case .none, .offered: return nil
        case .mayAnswer:
            return { head in
                context.credentials.withLock { $0.answer(to: head, for: url, onlyBasic: onlyBasic) } != nil
            }
        }
    }
}

extension SessionContext {
    /// Returns the use of stored credentials for the next exchange.
    func storedCredentials(for hop: Hop, onlyBasic: Bool) -> StoredCredentials {
        let lowered = hop.lowered
        if let answer = hop.storedAnswer { return .offered(answer) }
        if credentials.isEmpty || lowered.options.hasAuthentication || lowered.headers.contains(name: "Authorization")
            || lowered.defaultHeaders?.headers.contains(name: "Authorization") == true
        {
            return .none
        }
        if let expected = credentials.withLock({ $0.expected(by: lowered.url, onlyBasic: onlyBasic) }) {
            return .offered(expected)
        }
        return lowered.body.isReplayable ? .mayAnswer : .none
    }

    /// Stores credentials that the server has accepted, and forgets those that it has refused. Returns the credentials
    /// to send the request again with, or `nil`. `keeps` says whether to store the request's own credentials.
    func learn(
        from exchange: Exchange,
        keeps: (TransferAuthentication) -> Bool
    ) -> TransferAuthentication? {
        guard case .success(let response) = exchange.outcome else { return nil }
        let (head, challenge) = (response.head, response.answeredChallenges.last)
        let url = exchange.hop.lowered.url
        switch exchange.credentials {
        case .mayAnswer:
            guard head.status == 401, exchange.delegate.exchange.request.isHoldingBack else { return nil }
            let onlyBasic = exchange.delegate.exchange.request.offersOnlyBasic
            return credentials.withLock { $0.answer(to: head, for: url, onlyBasic: onlyBasic) }
        case .offered(let used):
            if head.status == 401 {
                credentials.withLock { $0.refused(used, for: url) }
            } else if let challenge {
                credentials.withLock { $0.accepted(used, for: url, after: challenge) }
            }
        case .none:
            guard head.status != 401, let challenge, let used = exchange.hop.lowered.options.authentication,
                keeps(used)
            else { return nil }
            credentials.withLock { $0.accepted(used, for: url, after: challenge) }
        }
        return nil
    }
}
