internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// What follows a response.
enum FollowUp {
    /// It is the answer.
    case deliver
    /// It is not followed, and not delivered either.
    case refuse(CurlewError)
    case send(Hop)
}

// The one place that knows of redirects, challenges and remembered credentials.
extension Run {
    /// What follows a response that may lead on.
    func followUp(_ exchange: Exchange) async -> FollowUp {
        guard case .success(let response) = exchange.outcome else { return .deliver }
        // Where nothing may follow, this is left to the end of the exchange.
        request.keep(exchange.metrics)
        if let answer = request.context.learn(from: exchange, keeps: keepsAuthentication) {
            var again = exchange.hop
            again.storedAnswer = answer
            again.announcement = .started
            return .send(again)
        }
        switch response.head.status {
        case 401: return await followChallenge(response.head, of: exchange)
        case 300..<400: return await followRedirect(response.head, of: exchange)
        default: return .deliver
        }
    }

    /// Another exchange follows: it has a name of its own.
    func moves(to lowered: TransferRequest, _ visible: VisibleRequest) -> FollowUp {
        task = session.nextTask(of: request, after: task)
        var lowered = lowered
        lowered.identifier = task
        return .send(Hop(visible: visible, lowered: lowered))
    }

    /// Tells monitors the end of an exchange that another follows.
    func emitStep(_ metrics: TransferMetrics) {
        let (request, task) = (request, task)
        events?.emitExchange { $0.request(request, task: task, didFinishCollecting: metrics) }
    }

    /// Whether the session is to remember these credentials of the request's own.
    private func keepsAuthentication(_ used: TransferAuthentication) -> Bool {
        request.record.withLock { record in
            guard let options = record.extras?.options else { return false }
            return options.keepsAuthentication && options.authentication == used
        }
    }
}
