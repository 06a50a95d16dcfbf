internal import CCurl
internal import CurlewCore
internal import Foundation

/// The parts of a transport's configuration that its loop needs, computed once.
///
/// A class: the parts of the engine share it, and passing it on copies a reference.
final class EngineSettings: Sendable {
    let base: TransportPlan
    let material: TrustMaterial
    let limits: ConnectionLimits
    let maximumHeaderSize: Int
    let trustEvaluation: (any TrustEvaluation)?
    /// Whether libcurl does not verify servers, so that the evaluator's verdict alone decides.
    let evaluatorDecidesAlone: Bool
    let verifiesTLSProxies: Bool
    let refusesPrivateAddresses: Bool
    let keepAlive: KeepAlive?
    /// The user's resolver; `nil` if libcurl resolves names.
    let resolver: DNSResolver?
    let ipVersion: DNSConfiguration.IPVersion
    /// Whether libcurl also looks up HTTPS records, and calls the resolver callback for them as it does for addresses.
    let looksUpHTTPSRecords: Bool
    /// When connections take no further requests; `nil` if nothing limits them.
    let retirement: ConnectionRetirement?
    /// The time between two PINGs in nanoseconds; `nil` if none are sent.
    let pingInterval: UInt64?
    /// Whether libcurl resolves names over HTTPS. It does so with internal handles, which inherit the transfer's
    /// callbacks.
    let resolvesOverHTTPS: Bool
    let usesOpenSSL: Bool
    let usesGnuTLS: Bool
    let hasClientIdentity: Bool
    /// The proxy of requests whose options name none.
    let proxy: Proxy
    /// The peculiarities of the running libcurl.
    let quirks: LibcurlQuirks
    /// Whether connections without TLS speak HTTP/2, and libcurl cannot reuse them (`RequestPlan.planProtocol`).
    let endsPlainHTTP2Connections: Bool
    /// The Unix socket that every connection leads to; `nil` if connections lead to the URL's host.
    let unixSocketPath: String?
    /// Whether callers may start transfers on their own threads. Unlike the loop thread, those threads do not block
    /// SIGPIPE, so libcurl has to suppress it (`LibcurlQuirks.suppressesSIGPIPE`).
    let lendsTurns: Bool
    /// Whether content codings are decoded unless a request asks for the body as it was sent.
    let decodesContent: Bool
    let httpVersion: HTTPVersionPolicy
    /// Whether connections speak HTTP/2 from their first byte, over TLS or not, without negotiation.
    var hasPriorKnowledge: Bool { httpVersion == .http2PriorKnowledge }
    /// Stores the alternative services that servers announce; `nil` if the transport cannot use them.
    let alternatives: (any AlternativeServices)?

    /// `alternatives` is the result of `HTTP3Plan.alternatives` for the same configuration.
    init(
        _ configuration: TransportConfiguration,
        _ environment: TransportPlan.Environment,
        alternatives: (any AlternativeServices)?
    ) throws(CurlewError) {
        let capabilities = environment.capabilities
        base = try TransportPlan(configuration, environment)
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
        retirement = ConnectionRetirement(configuration)
        pingInterval = configuration.http2PingInterval.map { max(1_000_000_000, $0.clampedNanoseconds) }
        refusesPrivateAddresses = configuration.addressPolicy != .any
        (resolver, ipVersion) = (configuration.dns.ownResolver, configuration.dns.ipVersion)
        looksUpHTTPSRecords = capabilities.features.contains("HTTPSRR")
        resolvesOverHTTPS = configuration.dns.dohURL != nil
        usesOpenSSL = capabilities.usesOpenSSL
        usesGnuTLS = capabilities.usesTLS("GnuTLS")
        hasClientIdentity = configuration.tls.clientIdentity != nil
        proxy = environment.effective(configuration.proxy)
        quirks = capabilities.quirks
        endsPlainHTTP2Connections = TransportPlan.cannotReusePlain(configuration, capabilities)
        unixSocketPath = configuration.unixSocketPath
        lendsTurns = quirks.suppressesSIGPIPE
        decodesContent = configuration.acceptedEncodings?.isEmpty != true
        httpVersion = configuration.httpVersion
        self.alternatives = alternatives
    }
}

extension TransportPlan.Environment {
    /// Returns the environment of this process at the time of the call.
    static func current(_ capabilities: Capabilities) -> Self {
        var bundle: String?
        if let path = curlew_version_info()?.pointee.cainfo {
            let text = String(cString: path)
            if FileManager.default.isReadableFile(atPath: text) { bundle = text }
        }
        return Self(
            capabilities: capabilities,
            systemBundle: bundle,
            environmentNamesProxy: ProxyPlan.environmentNamesProxy(ProcessInfo.processInfo.environment)
        )
    }
}
