internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Whether and how one exchange uses the session's stored credentials.
enum StoredCredentials {
    /// The request brings credentials, none are stored, or the body cannot be sent again after a challenge.
    case none
    /// The credentials are sent along.
    case offered(TransferAuthentication)
    /// The credentials may answer a challenge.
    case mayAnswer
}

extension StoredCredentials {
    /// Returns whether stored credentials answer a challenge. It is then not delivered; the request is sent again with
    /// credentials.
    func answers(_ head: ResponseHead, from url: URL, to request: Request) -> Bool {
        switch self {
        case .none, .offered: false
        case .mayAnswer:
            request.context.credentials.withLock {
                $0.answer(to: head, for: url, onlyBasic: request.opensWebSocket) != nil
            }
        }
    }
}

extension SessionContext {
    /// Decides how the next exchange uses stored credentials. Called if some are stored, or were chosen before.
    func storedCredentials(for next: OutgoingRequest, onlyBasic: Bool) -> StoredCredentials {
        let transfer = next.transferRequest
        if let answer = next.sessionCredentials { return .offered(answer) }
        if transfer.options.hasAuthentication || transfer.bringsAuthorization { return .none }
        if let expected = credentials.withLock({ $0.expected(by: transfer.url, onlyBasic: onlyBasic) }) {
            return .offered(expected)
        }
        return transfer.body.isReplayable ? .mayAnswer : .none
    }

    /// Stores credentials that the server has accepted, and forgets those that it has refused. A 401 made by
    /// middleware can ask for credentials, but never removes stored ones. Returns the credentials to send the request
    /// again with, or `nil`.
    func updateCredentials(after response: TransferOutcome, of exchange: Exchange) -> TransferAuthentication? {
        let (head, url) = (response.head, exchange.url)
        let challenge = response.statusEvaluatesCredentials ? response.answeredChallenges.last : nil
        switch exchange.credentials {
        case .mayAnswer:
            guard head.status == 401, exchange.isProvisional else { return nil }
            let onlyBasic = exchange.request.opensWebSocket
            return credentials.withLock { $0.answer(to: head, for: url, onlyBasic: onlyBasic) }
        case .offered(let used):
            if head.status == 401, response.statusEvaluatesCredentials {
                credentials.withLock { $0.refused(used, for: url) }
            } else if let challenge {
                credentials.withLock { $0.accepted(used, for: url, after: challenge) }
            }
        case .none:
            // libcurl sends no credentials beside an `Authorization` field.
            guard head.status != 401, let challenge, !exchange.toSend.bringsAuthorization,
                let used = exchange.outgoing.transferRequest.options.authentication,
                exchange.request.storesAuthentication(used)
            else { return nil }
            credentials.withLock { $0.accepted(used, for: url, after: challenge) }
        }
        return nil
    }
}

extension TransferRequest {
    /// Whether an `Authorization` field replaces `options.authentication`.
    var bringsAuthorization: Bool {
        headers.contains(name: "Authorization") || defaultHeaders?.headers.contains(name: "Authorization") == true
    }
}

extension Request {
    /// Whether the session stores the credentials once they are accepted, because the request set them and asks for
    /// that.
    fileprivate func storesAuthentication(_ used: TransferAuthentication) -> Bool {
        record.withLock { record in
            guard let options = record.extras?.options else { return false }
            return options.keepsAuthentication && options.authentication == used
        }
    }
}
