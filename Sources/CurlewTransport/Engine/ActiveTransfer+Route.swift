internal import CCurl
internal import CurlewCore

/// What a transfer does about a way by HTTP/3 that it takes, and about those that its response announces.
extension ActiveTransfer {
    /// What the response says of other ways. One that was sent to the wrong server says nothing (RFC 7838, 6).
    func learnAlternatives(from head: ResponseHead, _ transfers: Transfers) {
        guard let alternatives = transfers.settings.alternatives, plan.isTLS, head.status != 421,
            head.headers.contains(name: "Alt-Svc")
        else { return }
        alternatives.receive(head.headers, from: SecureOrigin(host: plan.host, port: plan.wire.port))
    }

    /// Whether the alternative does not speak for the origin, which can be asked itself.
    var isMisdirected: Bool {
        plan.route != nil && deferredHead?.status == 421 && upload?.canStartAgain ?? true
    }

    /// Whether no connection came about where QUIC alone was tried. Where it was raced, the origin did not answer either.
    func isLost(after result: CURLcode) -> Bool {
        guard let route = plan.route, case .alone = route.route.mode else { return false }
        return result != CURLE_OK && !hasSent && !hasFailed
    }

    /// Makes the transfer as it was before it was sent, for the usual way. False where the body is gone.
    func leaveRoute(_ end: AlternativeEnd, _ transfers: Transfers) -> Bool {
        guard goBackToStart() else { return false }
        tellRoute(end, transfers)
        plan.leaveRoute()
        ownHeaders = plan.ownList
        forgetsObstacles()
        return true
    }

    /// The transfer has ended: says what became of its way.
    func tellRoute(_ transfers: Transfers) {
        if plan.route != nil { tellRoute(routeEnd, transfers) }
    }

    private func tellRoute(_ end: AlternativeEnd, _ transfers: Transfers) {
        guard let route = plan.route else { return }
        transfers.settings.alternatives?.ended(route.route, end)
    }

    private var routeEnd: AlternativeEnd {
        if let head = head ?? deferredHead {
            if head.status == 421 { return .misdirected }
            return head.version == .http3 ? .worked : .failed
        }
        switch finalError?.code {
        // Sent, and lost on the way.
        case .receiveFailed, .sendFailed, .protocolViolation: return hasSent ? .failed : .undecided
        default: return .undecided
        }
    }
}
