internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// What one exchange has to do with the credentials that its session remembers.
struct StoredCredentials {
    private enum Part {
        /// Somebody else has said who is asking, or nothing is remembered.
        case none
        /// They go along.
        case offered
        /// They may answer a challenge.
        case waiting
    }

    private let part: Part

    /// Puts credentials into the request where it lies in a known protection space. `isRepeated` says that it has
    /// some since its challenge was answered.
    // Never inlined: see `Attempt.remember`.
    @inline(never)
    init(for lowered: inout TransferRequest, in context: __shared SessionContext, isRepeated: Bool) {
        guard !lowered.options.hasAuthentication else {
            part = isRepeated ? .offered : .none
            return
        }
        guard !context.credentials.isEmpty, !lowered.headers.contains(name: "Authorization"),
            lowered.defaultHeaders?.headers.contains(name: "Authorization") != true
        else {
            part = .none
            return
        }
        let url = lowered.url
        lowered.options.authentication = context.credentials.withLock { $0.expected(by: url) }
        if lowered.options.authentication != nil {
            part = .offered
        } else {
            part = lowered.body.isReplayable ? .waiting : .none
        }
    }

    /// Holds back a response that asks for credentials that there are.
    @inline(never)
    func prepare(_ delegate: TaskDelegate, for url: URL, in context: SessionContext) {
        guard case .waiting = part else { return }
        delegate.isAnswerable = { head in
            context.credentials.withLock { $0.answer(to: head, for: url) } != nil
        }
    }

    /// The exchange is over: credentials that were accepted are kept, refused ones forgotten. Whether the request
    /// has to go out again, with what it has got now; `keeps` says whether the user's own are to be kept.
    @inline(never)
    func learn(
        from outcome: Result<TransferOutcome, CurlewError>,
        _ delegate: TaskDelegate,
        _ lowered: inout TransferRequest,
        in context: SessionContext,
        keeps: (TransferAuthentication) -> Bool
    ) -> Bool {
        let url = lowered.url
        switch part {
        case .waiting:
            guard delegate.isHoldingBack, case .success(let response) = outcome, response.head.status == 401 else {
                return false
            }
            lowered.options.authentication = context.credentials.withLock { $0.answer(to: response.head, for: url) }
            return lowered.options.authentication != nil
        case .offered:
            guard let used = lowered.options.authentication, let status = outcome.status else { return false }
            // The next hop may lie in another space.
            lowered.options.authentication = nil
            if status == 401 {
                context.credentials.withLock { $0.refused(used, for: url) }
            } else if let challenge = outcome.answeredChallenges.last {
                context.credentials.withLock { $0.accepted(used, for: url, after: challenge) }
            }
        case .none:
            guard let challenge = outcome.answeredChallenges.last, outcome.status != 401,
                let used = lowered.options.authentication, keeps(used)
            else { return false }
            context.credentials.withLock { $0.accepted(used, for: url, after: challenge) }
        }
        return false
    }
}
