internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The reaction to a response.
enum FollowUp {
    /// The response is delivered.
    case deliver
    /// The request fails: the response can be neither followed nor delivered.
    case refuse(CurlewError)
    case send(Hop)
}

// Redirects, challenges and stored credentials are handled here and in the two other files of this name.
extension Run {
    /// Returns the reaction to a response that may be followed by another exchange.
    func followUp(_ exchange: Exchange) async -> FollowUp {
        guard case .success(let response) = exchange.outcome else { return .deliver }
        if let answer = request.context.learn(from: exchange, keeps: keepsAuthentication) {
            var again = exchange.hop
            again.storedAnswer = answer
            again.announcement = .started
            return .send(again)
        }
        // Not earlier: a request that is repeated with stored credentials is the same exchange, which has its metrics
        // once. Those of responses that cannot be followed are recorded when the exchange ends.
        request.keep(exchange.metrics)
        switch response.head.status {
        case 401: return await followChallenge(response.head, of: exchange)
        case 300..<400: return await followRedirect(response.head, of: exchange)
        default: return .deliver
        }
    }

    /// Returns the next exchange, under a new identifier.
    func moves(to lowered: TransferRequest, _ visible: VisibleRequest) -> FollowUp {
        task = session.nextTask(of: request, after: task)
        var lowered = lowered
        lowered.identifier = task
        return .send(Hop(visible: visible, lowered: lowered))
    }

    /// Reports the end of an exchange to the session's monitors.
    func emitStep(_ metrics: TransferMetrics) {
        let (request, task) = (request, task)
        events?.emitExchange { $0.request(request, task: task, didFinishCollecting: metrics) }
    }

    /// Whether the session stores the credentials, because the request set them and asks for that.
    private func keepsAuthentication(_ used: TransferAuthentication) -> Bool {
        request.record.withLock { record in
            guard let options = record.extras?.options else { return false }
            return options.keepsAuthentication && options.authentication == used
        }
    }
}
