internal import CCurl
internal import CurlewCore

/// HTTP/3 routes: the one that a transfer uses, and those that its response announces.
extension ActiveTransfer {
    /// Stores the alternatives that the response announces. Those of a misdirected response are ignored (RFC 7838, 6).
    func learnAlternatives(from head: ResponseHead, _ transfers: Transfers) {
        guard let alternatives = transfers.settings.alternatives, plan.isTLS, head.status != 421,
            head.headers.contains(name: "Alt-Svc")
        else { return }
        alternatives.receive(head.headers, from: SecureOrigin(host: plan.host, port: plan.wire.port))
    }

    /// Whether the alternative does not serve the origin, and the request can be sent to the origin itself.
    var isMisdirected: Bool {
        plan.route != nil && deferredHead?.status == 421 && upload?.canStartAgain ?? true
    }

    /// Whether QUIC, tried alone, failed to connect. If QUIC was raced against TCP, the origin did not respond either.
    func isLost(after result: CURLcode) -> Bool {
        guard let route = plan.route, case .alone = route.route.mode else { return false }
        return result != CURLE_OK && !hasSent && !hasFailed
    }

    /// Resets the transfer to send it again without the route. Returns false if the body cannot be rewound.
    func leaveRoute(_ end: AlternativeEnd, _ transfers: Transfers) -> Bool {
        guard goBackToStart() else { return false }
        tellRoute(end, transfers)
        plan.leaveRoute()
        ownHeaders = plan.ownList
        forgetsObstacles()
        return true
    }

    /// Reports whether the route worked, once the transfer has ended.
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
        // The request was sent over the route and got no response.
        case .receiveFailed, .sendFailed, .protocolViolation: return hasSent ? .failed : .undecided
        default: return .undecided
        }
    }
}
