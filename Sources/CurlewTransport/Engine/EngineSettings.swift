internal import CurlewCore

/// What the loop needs of a transport's configuration, worked out once.
struct EngineSettings: Sendable {
    let base: ConnectionPlan
    let material: TrustMaterial
    let limits: ConnectionLimits
    let maximumHeaderSize: Int
    let trustEvaluation: (any TrustEvaluation)?
    /// libcurl does not verify servers: what the evaluator says is all.
    let evaluatorDecidesAlone: Bool
    let verifiesTLSProxies: Bool
    let refusesPrivateAddresses: Bool
    let keepAlive: KeepAlive?
    /// libcurl asks for names with handles of its own, which have the callbacks of the transfer's.
    let resolvesOverHTTPS: Bool
    let usesOpenSSL: Bool
    let usesGnuTLS: Bool
    let hasClientIdentity: Bool
    /// The way to the outside where a request names none of its own.
    let proxy: Proxy
    /// Before 7.80 only its trace tells that it has sent.
    let libcurlAsksBeforeSending: Bool
    /// libcurl 8.5 reads on while a transfer is paused, up to 64 MB, and then fails (curl issue 12632, mended in 8.6).
    let libcurlReadsWhilePaused: Bool
    /// From 8.10 on libcurl reads whenever it sends over HTTP/1, also while receiving is paused, up to 64 MB.
    let libcurlReadsWhileSending: Bool
    /// From 8.7 on a body that ends before its announced length fails the transfer, also after the response refused it.
    let libcurlFailsShortBodies: Bool
    /// Before 8.8 libcurl opens the socket to a host's next address only when it is run once more, and sets no timer for that.
    let libcurlForgetsNextAddress: Bool
    /// Up to 8.1.0 libcurl appends a folded line that comes before any field to the last field of the handle's transfer before,
    /// whose memory it has freed (curl issue 11101).
    let libcurlKeepsFreedField: Bool
    /// Before 8.0 libcurl sends over a connection on which there is something to read already. Before 7.80 it does not ask.
    let libcurlTakesUnaskedBytes: Bool
    /// The Unix socket that every connection leads to; `nil` if connections lead to the URL's host.
    let unixSocketPath: String?
    /// Before 8.1 libcurl takes the end of an HTTP/2 connection on which the server has broken a rule for the end of the
    /// responses on it.
    let libcurlHidesBrokenConnections: Bool
    /// libcurl 7.88 can use no plain HTTP/2 connection twice (`RequestPlan.planProtocol`).
    let libcurlSpoilsPlainHTTP2: Bool
    let loopMechanism: LoopMechanism
    /// Callers may start transfers on their own threads. The loop thread blocks SIGPIPE, theirs do not: a libcurl before 7.88
    /// lets its TLS libraries write to sockets without `MSG_NOSIGNAL`.
    let lendsTurns: Bool
    /// Content codings are undone unless a request wants them left.
    let decodesContent: Bool
    /// Where other transfer codings stand beside it libcurl 8.5 does not undo chunking either; 8.14 refuses such a response.
    let garblesTransferCodings: Bool
    /// HTTP/2 is spoken without asking, whether there is TLS or not.
    let hasPriorKnowledge: Bool
    /// Nothing but a refused stream has libcurl try again over HTTP/2 without a word about an error.
    let triesAgainSilentlyOnRefusal: Bool
    /// What servers announce is kept there; nil where it cannot be used.
    let alternatives: (any AlternativeServices)?

    init(_ configuration: TransportConfiguration, _ surroundings: ConnectionPlan.Surroundings) throws(CurlewError) {
        base = try ConnectionPlan(configuration, surroundings)
        material = try TrustMaterial(
            base.trust,
            revocationList: configuration.tls.certificateRevocationList,
            keyLogFile: configuration.tls.keyLogFile
        )
        limits = ConnectionLimits(
            maximumPerHost: configuration.maximumConnectionsPerHost,
            maximumTotal: configuration.maximumConnections
        )
        maximumHeaderSize = max(1, configuration.maximumHeaderSize)
        trustEvaluation = configuration.trustEvaluation
        verifiesTLSProxies = configuration.tls.certificateVerification != .none
        evaluatorDecidesAlone = configuration.trustEvaluationReplacesVerification || !verifiesTLSProxies
        keepAlive = configuration.keepAlive
        refusesPrivateAddresses = configuration.addressPolicy != .any
        resolvesOverHTTPS = configuration.dns.dohURL != nil
        usesOpenSSL = surroundings.capabilities.usesOpenSSL
        usesGnuTLS = surroundings.capabilities.usesTLS("GnuTLS")
        hasClientIdentity = configuration.tls.clientIdentity != nil
        proxy = surroundings.effective(configuration.proxy)
        libcurlAsksBeforeSending = surroundings.capabilities.isAtLeast(7, 80, 0)
        libcurlReadsWhilePaused =
            surroundings.capabilities.isAtLeast(8, 5, 0) && !surroundings.capabilities.isAtLeast(8, 6, 0)
        libcurlReadsWhileSending = surroundings.capabilities.isAtLeast(8, 10, 0)
        libcurlFailsShortBodies = surroundings.capabilities.isAtLeast(8, 7, 0)
        libcurlForgetsNextAddress = !surroundings.capabilities.isAtLeast(8, 8, 0)
        libcurlKeepsFreedField =
            surroundings.capabilities.isAtLeast(7, 83, 0) && !surroundings.capabilities.isAtLeast(8, 1, 1)
        libcurlTakesUnaskedBytes =
            surroundings.capabilities.isAtLeast(7, 80, 0) && !surroundings.capabilities.isAtLeast(8, 0, 0)
        unixSocketPath = configuration.unixSocketPath
        libcurlHidesBrokenConnections = !surroundings.capabilities.isAtLeast(8, 1, 0)
        libcurlSpoilsPlainHTTP2 =
            configuration.httpVersion == .http2PriorKnowledge && surroundings.capabilities.isAtLeast(7, 88, 0)
            && !surroundings.capabilities.isAtLeast(8, 0, 0)
        loopMechanism = surroundings.loopMechanism
        lendsTurns = surroundings.capabilities.isAtLeast(7, 88, 0)
        decodesContent = configuration.acceptedEncodings?.isEmpty != true
        garblesTransferCodings =
            surroundings.capabilities.isAtLeast(8, 5, 0) && !surroundings.capabilities.isAtLeast(8, 14, 0)
        hasPriorKnowledge = configuration.httpVersion == .http2PriorKnowledge
        alternatives = HTTP3Plan.alternatives(configuration, surroundings)
        triesAgainSilentlyOnRefusal = !surroundings.capabilities.isAtLeast(8, 1, 0)
    }
}
