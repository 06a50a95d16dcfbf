internal import CCurl
internal import CurlewCore

/// A reason to send a request again from its start, over another handle, and the change that it demands, if any.
///
/// libcurl's own repetitions, on the same handle, are not restarts: `ActiveTransfer.answerToRepetition` permits them.
enum TransferRestart: Equatable {
    /// The server refuses the expectation (417).
    case withoutExpectation
    /// A challenge offers to authenticate the connection, which other requests share.
    case alone
    /// libcurl has lost the addresses that the user's resolver had found.
    case withNewAddresses
    /// The alternative does not serve the origin (421), or QUIC, tried alone, failed to connect.
    case withoutRoute(AlternativeEnd)
    /// No server has processed the request. `attempts` is the number of sends that count against `maximumAttempts`.
    case unchanged(attempts: Int)
}

extension ActiveTransfer {
    // MARK: Repetitions by libcurl

    /// The answer to libcurl that is about to send the request again: to answer a challenge, without its expectation, or
    /// because the connection broke. The first rule that applies decides. Sets `failure` if the answer is `fail`.
    func answerToRepetition() -> SendAnswer {
        // libcurl would repeat an expectation that it did not add itself.
        if let restart = restartOfResponse { return .restart(restart) }
        // The sink has its response already, so a repetition (417 with a caller's own Expect) is too late.
        if response.hasHead { return .keepResponse }
        if sending.evidence.asksForCalm {
            failure = refusedForNow
            return .fail
        }
        if isAboutToAuthenticateConnection { return .restart(.alone) }
        // A server may call every nonce stale. Its last challenge becomes the response.
        if hasAnsweredEnough { return .keepResponse }
        // The connection broke after the server may have read the request.
        var isLost = !plan.mayBeResent && !wasAskedToSendAgain && !isUnprocessedRepetition
        // libcurl must not send the request again on a handle on which it has read a body that trailers follow.
        if !isLost, let easy, easy.sendsTrailers, easy.transfers.settings.quirks.sendsTrailersOnce {
            if response.deferredHead != nil { return .keepResponse }
            isLost = true
        }
        guard isLost else { return .send }
        failure = makeError(.receiveFailed, "the connection closed before a response came")
        return .fail
    }

    /// Whether libcurl is about to answer a challenge that offers to authenticate the connection, although other
    /// requests share the connection.
    var isAboutToAuthenticateConnection: Bool {
        guard plan.goesAloneIfOffered, !plan.isAlone, response.deferredHead?.status == 401, let easy else {
            return false
        }
        let offered = UInt(bitPattern: curlew_get_long(easy.handle, CURLINFO_HTTPAUTH_AVAIL))
        return offered & (CurlAuth.negotiate | CurlAuth.ntlm) != 0
    }

    /// Whether the last response is a challenge after as many answers as a handshake may need.
    private var hasAnsweredEnough: Bool {
        switch response.deferredHead?.status {
        case 401: response.challengeCounts.server >= Self.maximumAnsweredChallenges
        case 407: response.challengeCounts.proxy >= Self.maximumAnsweredChallenges
        default: false
        }
    }

    /// NTLM needs two answers, and so does Digest if a nonce has become stale.
    private static let maximumAnsweredChallenges = 3

    /// Whether libcurl repeats the request by itself because no server has processed the last send.
    private var isUnprocessedRepetition: Bool {
        guard let easy else { return false }
        return isUnprocessed || sending.evidence.isRefusedStream(easy)
    }

    /// Whether the last response asks for the same request again: a challenge, or a refused expectation.
    private var wasAskedToSendAgain: Bool {
        switch response.collector.lastStatus {
        case 401, 407, 417: true
        default: false
        }
    }

    // MARK: Restarts

    /// The most attempts in which no server makes progress. libcurl has the same limit for retries of a refused stream.
    private static let maximumAttempts = 5
    /// The most restarts of a transfer because no server has processed it, whatever the servers say. No timeout ends
    /// them by default.
    private static let maximumRestarts = 100

    /// The reason to send the request again from its start, given libcurl's result; `nil` if there is none. The first
    /// rule that applies decides.
    func reasonToRestart(after result: CURLcode) -> TransferRestart? {
        if case .restart(let restart) = sending.answer { return restart }
        if let restart = restartOfResponse { return restart }
        // The connection may break before libcurl asks whether it may answer the challenge.
        if result != CURLE_OK, isAboutToAuthenticateConnection { return .alone }
        if connection.hasLostAddresses, sending.attempts < Self.maximumAttempts { return .withNewAddresses }
        guard result != CURLE_OK else { return nil }
        guard sending.hasBegun else {
            // If QUIC was raced against TCP, the origin did not respond either.
            guard let route = plan.route, case .alone = route.route.mode else { return nil }
            return .withoutRoute(.failed)
        }
        // If the server asked for fewer requests, only a retrier waits before it tries again. libcurl's own attempts
        // count: from 8.1 on it has retried a refused stream as often itself.
        //
        // An attempt does not count if the server has processed other requests on the connection: a server that ends
        // each connection after a few requests refuses the rest of a burst again and again, and still gets through it.
        // A server can claim that without having processed anything, so all restarts are limited, too.
        let attempts = sending.unproductiveCount + (sending.evidence.isBehindProcessedStream ? 0 : 1)
        guard !response.hasHead, response.deferredHead == nil, sending.attempts + attempts <= Self.maximumAttempts,
            sending.restarts < Self.maximumRestarts, isUnprocessed, !sending.evidence.asksForCalm
        else { return nil }
        return .unchanged(attempts: attempts)
    }

    /// Rewinds the body and changes the plan for the restart; the caller then enqueues the transfer again. Called when
    /// libcurl is done with the transfer, or must leave a response that does not end.
    ///
    /// Returns false if the body cannot be rewound. Then a challenge can be the result. The body of any other response
    /// that asks for a restart was discarded, so `failure` is set.
    func prepare(for restart: TransferRestart, _ settings: EngineSettings) -> Bool {
        let isBodyDiscarded = restartOfResponse != nil
        guard sending.upload?.seek(to: 0) ?? true else {
            if isBodyDiscarded { failure = makeError(.bodyUnavailable, "the request's body cannot be read again") }
            return false
        }
        response.deferredHead = nil
        response.collector = HeadCollector()
        sending.count = 0
        sending.unproductiveCount = 0
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
            sending.attempts += 1
        case .withoutRoute(let end):
            plan.route?.ended(end)
            plan.leaveRoute()
            headerList = plan.headerList
            connection.forgetObstacles()
        case .unchanged(let attempts):
            sending.attempts += attempts
            sending.restarts += 1
        }
        return true
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
