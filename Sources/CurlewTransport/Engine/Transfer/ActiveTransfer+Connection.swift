internal import CCurl
internal import CurlewCore
internal import Foundation

/// The connection that a transfer makes or uses, as far as it is known.
struct TransferConnection {
    /// The host's addresses that the user's resolver has found; `nil` before, and if it is not asked.
    var resolvedAddresses: [String]?
    /// The connection over which the request was last sent.
    var name: ConnectionName?
    /// Sockets opened for the transfer, one of which becomes its connection.
    var openedSockets: [Int32] = []
    /// Whether a socket to some address of the host was opened. Its failure says more than that of an address without a
    /// socket.
    private(set) var hasOpenedSocket = false
    /// errno of a socket that could not be created. Reset when one is opened; from then on only a shortage is recorded.
    var socketError: Int32 = 0
    /// An address that the address policy refused.
    var refusedAddress: String?
    /// The socket of a connection made in advance, while it is watched; -1 otherwise.
    var settlingSocket: Int32 = -1
    /// The transfer's socket while libcurl is not told that it is readable; -1 otherwise.
    var mutedSocket: Int32 = -1
    /// The number of times that libcurl has asked a proxy for a tunnel.
    var tunnelRequests = 0
    /// Whether libcurl has dropped the addresses of the user's resolver, and would look the host up itself: the
    /// transfer restarts. See `ActiveTransfer.checkLookUp`.
    var hasLostAddresses = false
    /// Whether a TLS handshake has begun on a new connection made for this transfer.
    var isSecuring = false
    var wasAskedForCertificate = false
    /// The last TLS alert received on a new connection made for this transfer.
    var tlsAlert: Int32?
    /// The certificate chain that the server presented on a new connection made for this transfer.
    var shownChain: ShownChain?

    /// Whether no address of the host got a socket, because the address was refused or the system failed.
    var lacksEverySocket: Bool { !hasOpenedSocket && (refusedAddress != nil || socketError != 0) }

    mutating func socketOpened(_ fd: Int32) {
        hasOpenedSocket = true
        openedSockets.append(fd)
        socketError = 0
    }

    mutating func socketFailed(_ code: Int32) {
        if !hasOpenedSocket || SystemError.isShortage(code) { socketError = code }
    }

    /// A handshake needs three, and libcurl may make the connection anew.
    static let maximumTunnelRequests = 12

    /// Called by `ActiveTransfer.reset`. The failures of addresses and the certificates are kept for the error, and
    /// the host's addresses until `enqueue` asks for them again.
    mutating func reset() {
        name = nil
        openedSockets = []
        hasLostAddresses = false
        isSecuring = false
        tlsAlert = nil
        tunnelRequests = 0
    }

    /// Discards the failures of the route that the transfer leaves.
    mutating func forgetObstacles() {
        (refusedAddress, socketError, shownChain, hasOpenedSocket, tlsAlert) = (nil, 0, nil, false, nil)
    }
}

extension ActiveTransfer {
    // MARK: Connecting

    /// Called when libcurl asks for a resolver or a socket: the wait for a free connection is over.
    func connectionStarted(_ transfers: Transfers) {
        guard case .queue = clocks.stretch else { return }
        transfers.loop.assertOnLoop()
        transfers.queues.foundConnection(self)
        clocks.connectionStarted(at: transfers.now)
        transfers.clockChanged(self)
    }

    /// Called when libcurl is about to resolve a name. Mutes the trace until a socket is opened if libcurl's handles
    /// for names over HTTPS would write it to stderr.
    ///
    /// Behind a proxy libcurl may open no further socket after that. A libcurl that shows a send only in its trace is
    /// therefore not muted once it has opened one.
    func resolverStarts(_ transfers: Transfers) {
        connectionStarted(transfers)
        let settings = transfers.settings
        guard settings.resolvesOverHTTPS, settings.quirks.tracesDoHToStderr else { return }
        if settings.quirks.asksBeforeSending || connection.openedSockets.isEmpty { easy?.muteTrace(true) }
    }

    /// Checks that libcurl may look up a name. Returns false to end the transfer on its handle.
    ///
    /// It must not look up a host whose addresses it was given: the answer could be another one. It does so if the
    /// transfer has waited within libcurl, or sends again, after `DNSPlan.leastLifetime`. The transfer is then enqueued
    /// again, and asks anew; if its request was sent already, it fails.
    func checkLookUp(_ question: HostQuestion, _ settings: EngineSettings) -> Bool {
        guard question.isDirect, !settings.looksUpHTTPSRecords else { return true }
        if sending.hasBegun {
            failure = makeError(.resolveFailed, "the addresses of the resolver have expired", phase: .resolve)
        } else {
            connection.hasLostAddresses = true
        }
        return false
    }

    // MARK: Proxies

    /// Counts a request for a tunnel, and cancels the transfer at the limit. libcurl would answer thousands of
    /// challenges to CONNECT by itself. The cancellation is queued, because the trace callback that calls this method
    /// cannot end a transfer.
    func countTunnelRequest() {
        connection.tunnelRequests += 1
        guard connection.tunnelRequests == TransferConnection.maximumTunnelRequests else { return }
        var error = makeError(.proxyFailed, "the proxy asks for credentials again and again", phase: .proxy)
        error.responseCode = 407
        send(.cancel(error))
    }

    /// Whether the transfer's connection leads to a proxy.
    func usesProxy(_ settings: EngineSettings) -> Bool {
        switch proxy(settings) {
        case .none: false
        case .url: true
        case .environment:
            ProxyPlan.environmentNamesProxy(
                for: URLParts.host(of: plan.url) ?? plan.host,
                isTLS: plan.isTLS,
                in: ProcessInfo.processInfo.environment
            )
        }
    }

    /// Whether the transfer may use a proxy with credentials, with which libcurl answers challenges.
    func mayUseProxyWithCredentials(_ settings: EngineSettings) -> Bool {
        switch proxy(settings) {
        case .none: false
        case .url(let url, let username, _, _): username != nil || url.user != nil
        case .environment: true
        }
    }

    /// Whether the transfer may use a proxy over TLS, so that one of its TLS connections may be to the proxy.
    func mayUseTLSProxy(_ settings: EngineSettings) -> Bool {
        switch proxy(settings) {
        case .none: false
        case .url(let url, _, _, _): url.scheme?.lowercased() == "https"
        case .environment: true
        }
    }

    /// The proxy that libcurl uses for the transfer; `.none` over a Unix socket.
    private func proxy(_ settings: EngineSettings) -> Proxy {
        guard settings.unixSocketPath == nil, !plan.leavesOutProxy else { return .none }
        return request.options.proxy ?? settings.proxy
    }

    // MARK: HTTP/3 routes

    /// The outcome of the HTTP/3 route, once the transfer has ended.
    var routeEnd: AlternativeEnd {
        if let head = response.head ?? response.deferredHead {
            if head.status == 421 { return .misdirected }
            return head.version == .http3 ? .worked : .failed
        }
        switch result.error?.code {
        // The request was sent over the route and got no response.
        case .receiveFailed, .sendFailed, .protocolViolation: return sending.hasBegun ? .failed : .undecided
        default: return .undecided
        }
    }
}
