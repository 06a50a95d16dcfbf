internal import CCurl
internal import CurlewCore

/// A reason to send a request again from its start, over another handle, and the change that it demands.
enum TransferRestart: Equatable {
    /// The server refuses the expectation (417).
    case withoutExpectation
    /// A challenge offers to authenticate the connection, which other requests share.
    case alone
    /// libcurl has lost the addresses that the user's resolver had found.
    case withNewAddresses
    /// The alternative does not serve the origin (421), or QUIC, tried alone, failed to connect.
    case withoutRoute(AlternativeEnd)
    /// No server has processed the request, which libcurl has sent `attempts` times.
    case unchanged(attempts: Int)
}

extension ActiveTransfer {
    /// libcurl's own limit for retries of a refused stream.
    private static let maximumRestarts = 5

    /// Resets a transfer that has to be sent again, and changes its plan for that. Called when libcurl is done with it.
    /// Returns false if the transfer has ended: nothing asks for another start, or its body cannot be rewound. In that
    /// case a challenge can be the result. The body of any other response that asks for a restart was discarded, so the
    /// transfer fails.
    func startOver(after result: CURLcode, _ settings: EngineSettings) -> Bool {
        guard let restart = restart(after: result) else { return false }
        let isBodyDiscarded = restartOfResponse != nil
        guard sending.upload?.seek(to: 0) ?? true else {
            if isBodyDiscarded { failure = makeError(.bodyUnavailable, "the request's body cannot be read again") }
            return false
        }
        response.deferredHead = nil
        response.collector = HeadCollector()
        sending.count = 0
        sending.evidence = DeliveryEvidence()
        pauses.applied = 0
        // The body was rewound: no wake-up will come for the read that was pending.
        pauses.sourcePending = false
        switch restart {
        case .withoutExpectation:
            plan.leaveOutExpect()
            headerList = plan.headerList
        case .alone:
            response.challengeCounts = (0, 0)
            plan.goAlone(settings.httpVersion)
        case .withNewAddresses:
            sending.restarts += 1
        case .withoutRoute(let end):
            plan.route?.ended(end)
            plan.leaveRoute()
            headerList = plan.headerList
            connection.forgetObstacles()
        case .unchanged(let attempts):
            sending.restarts += attempts
        }
        return true
    }

    /// The first rule that applies decides.
    private func restart(after result: CURLcode) -> TransferRestart? {
        if case .restart(let restart) = sending.answer { return restart }
        if let restart = restartOfResponse { return restart }
        // The connection may break before libcurl asks whether it may answer the challenge.
        if result != CURLE_OK, isAboutToAuthenticateConnection { return .alone }
        if connection.hasLostAddresses, sending.restarts < Self.maximumRestarts { return .withNewAddresses }
        guard result != CURLE_OK else { return nil }
        guard sending.hasBegun else {
            // If QUIC was raced against TCP, the origin did not respond either.
            guard let route = plan.route, case .alone = route.route.mode else { return nil }
            return .withoutRoute(.failed)
        }
        // If the server asked for fewer requests, only a retrier waits before it tries again. libcurl's own attempts
        // count: from 8.1 on it has retried a refused stream as often itself.
        let attempts = sending.count
        guard !response.hasHead, response.deferredHead == nil, sending.restarts + attempts <= Self.maximumRestarts,
            isUnprocessed, !sending.evidence.asksForCalm
        else { return nil }
        return .unchanged(attempts: attempts)
    }

    /// The restart that a deferred response asks for by its status; `nil` if the body cannot be read again.
    ///
    /// libcurl repeats a request after a 417, too (RFC 9110, 10.1.1), but only if it has added the expectation itself
    /// and the server leaves the connection open.
    var restartOfResponse: TransferRestart? {
        guard let status = response.deferredHead?.status else { return nil }
        let restart: TransferRestart
        switch status {
        case 417 where plan.sendsExpect: restart = .withoutExpectation
        case 421 where plan.route != nil: restart = .withoutRoute(.misdirected)
        default: return nil
        }
        return sending.upload?.canStartAgain ?? true ? restart : nil
    }

    /// Whether the last send can be repeated because no server can have processed it: no byte of it was sent, or HTTP/2
    /// says so (RFC 9113, 8.7). False if the body cannot be read again.
    var isUnprocessed: Bool {
        guard let easy, sending.upload?.canStartAgain ?? true else { return false }
        return sending.hasBegun && (sending.evidence.isAboveGoAway || sending.evidence.isUnsent(easy))
    }
}
