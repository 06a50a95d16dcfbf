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
    // As `Capabilities` says.
    let libcurlAsksBeforeSending: Bool
    let libcurlReadsWhilePaused: Bool
    let libcurlReadsWhileSending: Bool
    let libcurlFailsShortBodies: Bool
    let libcurlForgetsNextAddress: Bool
    let libcurlKeepsFreedField: Bool
    let libcurlTakesUnaskedBytes: Bool
    let libcurlHidesBrokenConnections: Bool
    let libcurlTriesAgainSilentlyOnRefusal: Bool
    let libcurlGarblesTransferCodings: Bool
    /// Plain connections speak HTTP/2, and libcurl can use none twice (`RequestPlan.planProtocol`).
    let libcurlCannotReusePlainHTTP2: Bool
    /// The Unix socket that every connection leads to; `nil` if connections lead to the URL's host.
    let unixSocketPath: String?
    /// Callers may start transfers on their own threads. The loop thread blocks SIGPIPE, theirs do not
    /// (`Capabilities.suppressesSIGPIPE`).
    let lendsTurns: Bool
    /// Content codings are undone unless a request wants them left.
    let decodesContent: Bool
    let httpVersion: HTTPVersionPolicy
    /// HTTP/2 is spoken without asking, whether there is TLS or not.
    var hasPriorKnowledge: Bool { httpVersion == .http2PriorKnowledge }
    /// What servers announce is kept there; nil where it cannot be used.
    let alternatives: (any AlternativeServices)?

    init(_ configuration: TransportConfiguration, _ surroundings: ConnectionPlan.Surroundings) throws(CurlewError) {
        let capabilities = surroundings.capabilities
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
        usesOpenSSL = capabilities.usesOpenSSL
        usesGnuTLS = capabilities.usesTLS("GnuTLS")
        hasClientIdentity = configuration.tls.clientIdentity != nil
        proxy = surroundings.effective(configuration.proxy)
        libcurlAsksBeforeSending = capabilities.asksBeforeSending
        libcurlReadsWhilePaused = capabilities.readsWhilePaused
        libcurlReadsWhileSending = capabilities.readsWhileSending
        libcurlFailsShortBodies = capabilities.failsShortBodies
        libcurlForgetsNextAddress = capabilities.forgetsNextAddress
        libcurlKeepsFreedField = capabilities.keepsFreedField
        libcurlTakesUnaskedBytes = capabilities.takesUnaskedBytes
        libcurlHidesBrokenConnections = capabilities.hidesBrokenConnections
        libcurlTriesAgainSilentlyOnRefusal = capabilities.triesAgainSilentlyOnRefusal
        libcurlGarblesTransferCodings = capabilities.garblesTransferCodings
        libcurlCannotReusePlainHTTP2 =
            configuration.httpVersion == .http2PriorKnowledge && capabilities.cannotReusePlainHTTP2
        unixSocketPath = configuration.unixSocketPath
        lendsTurns = capabilities.suppressesSIGPIPE
        decodesContent = configuration.acceptedEncodings?.isEmpty != true
        httpVersion = configuration.httpVersion
        alternatives = HTTP3Plan.alternatives(configuration, surroundings)
    }
}
