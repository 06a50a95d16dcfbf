internal import CCurl
internal import CurlewCore
internal import Foundation

/// The options that every easy handle of one transport starts with, made from its configuration. Those of a request are
/// its `RequestPlan`.
struct TransportPlan: Equatable, Sendable {
    var options: [OptionValue] = []
    var trust: TrustStrategy = .libcurlDefault

    /// The facts about the process that the plan depends on. A value, so that plans read neither files nor variables.
    struct Environment: Sendable {
        var capabilities: Capabilities
        /// The path of the bundle that the running libcurl trusts by default; `nil` if it cannot be read.
        var systemBundle: String?
        var environmentNamesProxy: Bool

        /// The proxy, with `.environment` replaced by `.none` if the environment names no proxy. Whether the
        /// environment names a proxy is read once; which one, libcurl reads for itself.
        func effective(_ proxy: Proxy) -> Proxy {
            proxy == .environment && !environmentNamesProxy ? .none : proxy
        }
    }

    init(_ configuration: TransportConfiguration, _ environment: Environment) throws(CurlewError) {
        let (capabilities, quirks) = (environment.capabilities, environment.capabilities.quirks)
        options.append(.long(CURLOPT_NOSIGNAL, 1))
        if quirks.takesProtocolsAsText { options.append(.string(.protocolsString, "http,https")) }
        // Without this option, cancelling a transfer that resolves a name waits for the resolver.
        if quirks.quitsWithoutResolver { options.append(.long(.quickExit, 1)) }
        options.append(.long(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1))
        if configuration.keepsDotSegments { options.append(.long(CURLOPT_PATH_AS_IS, 1)) }
        options.append(.long(CURLOPT_MAXAGE_CONN, max(1, Int(configuration.connectionIdleLifetime.components.seconds))))
        options += try retirementOptions(configuration, capabilities)
        if configuration.http2PingInterval != nil {
            try capabilities.require(.http2Ping)
            try requireNames(configuration, for: "http2PingInterval")
        }
        options += try DNSPlan.options(configuration.dns, capabilities)
        options += try proxyOptions(configuration, environment)
        options += try localOptions(configuration, capabilities)
        options += netrcOptions(configuration.netrc)
        try planVersion(configuration, environment)
        if let least = Self.leastBuffer(configuration, capabilities) {
            options.append(.long(CURLOPT_BUFFERSIZE, least))
        }
        let replaces = configuration.trustEvaluation != nil && configuration.trustEvaluationReplacesVerification
        var tls = configuration.tls
        if replaces { tls.certificateVerification = .none }
        trust = TrustStrategy(
            tls,
            capabilities: capabilities,
            systemBundle: environment.systemBundle,
            hasEvaluator: configuration.trustEvaluation != nil
        )
        options += try TLSPlan.options(configuration.tls, trust, capabilities)
        // Later options win. The proxy is still verified: the evaluator does not see its chain.
        if replaces { options += [.long(CURLOPT_SSL_VERIFYPEER, 0), .long(CURLOPT_SSL_VERIFYHOST, 0)] }
        // libcurl verifies the DNS-over-HTTPS server on a separate handle, which inherits no roots but this path.
        // Without the path that handle loads the file that libcurl was built with, and fails if the file does not
        // exist, before it is given the shared store.
        if replaces, configuration.dns.dohURL != nil, case .sharedStore(.file(let path)) = trust {
            options.append(.string(CURLOPT_CAINFO, path))
        }
        if configuration.trustEvaluation != nil { try capabilities.require(.trustEvaluation) }
        try checkTexts(configuration)
        try RequestPlan.checkRates(configuration.uploadRateLimit, configuration.downloadRateLimit)
    }

    /// The smallest receive buffer that is safe; `nil` if any size is. A libcurl that loses frames gets room for
    /// everything that it reads at once and for a head, so that the buffer is never full. TLS delivers at most 16 KiB
    /// at once.
    static func leastBuffer(_ configuration: TransportConfiguration, _ capabilities: Capabilities) -> Int? {
        configuration.httpVersion == .http2PriorKnowledge && capabilities.quirks.losesFrames ? 48 * 1024 : nil
    }

    /// Whether connections without TLS speak HTTP/2, and libcurl cannot reuse them (curl issue 10634).
    static func cannotReusePlain(_ configuration: TransportConfiguration, _ capabilities: Capabilities) -> Bool {
        configuration.httpVersion == .http2PriorKnowledge && capabilities.quirks.cannotReusePlainHTTP2
    }

    /// Rejects texts that libcurl would read differently.
    private func checkTexts(_ configuration: TransportConfiguration) throws(CurlewError) {
        for case .string(let option, let text) in options where text.utf8.contains(0) {
            // libcurl cuts the text at the NUL: it would use another path or another pin.
            throw CurlewError(
                .requestCreationFailed,
                phase: .creation,
                reason: "the setting for \(OptionValue.name(of: option)) contains a NUL byte"
            )
        }
        guard configuration.acceptedEncodings?.allSatisfy(\.isHTTPFieldValue) ?? true else {
            throw CurlewError(
                .invalidHeader,
                phase: .creation,
                reason: "an accepted encoding has characters that HTTP does not allow"
            )
        }
    }

    private func proxyOptions(_ configuration: TransportConfiguration, _ environment: Environment)
        throws(CurlewError) -> [OptionValue]
    {
        let proxy = environment.effective(configuration.proxy)
        try ProxyPlan.check(proxy, configuration.addressPolicy, environment.capabilities)
        return ProxyPlan.options(proxy)
    }

    private func localOptions(_ configuration: TransportConfiguration, _ capabilities: Capabilities)
        throws(CurlewError) -> [OptionValue]
    {
        var options: [OptionValue] = []
        if let path = configuration.unixSocketPath {
            try capabilities.require(.unixSocket)
            options.append(.string(CURLOPT_UNIX_SOCKET_PATH, path))
        }
        switch (configuration.interface, configuration.localAddress) {
        case (nil, nil): break
        case (let interface?, nil): options.append(.string(CURLOPT_INTERFACE, "if!\(interface)"))
        case (nil, let address?): options.append(.string(CURLOPT_INTERFACE, "host!\(address)"))
        case (let interface?, let address?):
            try capabilities.require(.interfaceWithAddress)
            options.append(.string(CURLOPT_INTERFACE, "ifhost!\(interface)!\(address)"))
        }
        return options
    }

    private func retirementOptions(_ configuration: TransportConfiguration, _ capabilities: Capabilities)
        throws(CurlewError) -> [OptionValue]
    {
        if configuration.maximumRequestsPerConnection != nil {
            try capabilities.require(.connectionRetirement)
            try requireNames(configuration, for: "maximumRequestsPerConnection")
        }
        guard let age = configuration.maximumConnectionAge else { return [] }
        try capabilities.require(.connectionRetirement)
        // libcurl closes idle connections that are older, in whole seconds. `ConnectionRetirement` is exact.
        return [.long(.maximumLifetime, max(1, min(Int(age.components.seconds), Int(Int32.max))))]
    }

    /// Refuses a setting for which the engine has to find connections by name. Those of a Unix socket have no ports, and so
    /// no names.
    private func requireNames(_ configuration: TransportConfiguration, for setting: String) throws(CurlewError) {
        guard configuration.unixSocketPath != nil else { return }
        throw .unsupported(feature: "\(setting) over a Unix socket", needs: "connections of TCP")
    }

    private func netrcOptions(_ netrc: Netrc) -> [OptionValue] {
        switch netrc {
        case .ignored: []
        case .optional: [.long(CURLOPT_NETRC, Int(CURLEW_NETRC_OPTIONAL))]
        case .file(let url):
            [
                .long(CURLOPT_NETRC, Int(CURLEW_NETRC_OPTIONAL)),
                .string(CURLOPT_NETRC_FILE, url.path(percentEncoded: false)),
            ]
        }
    }

    private func planVersion(_ configuration: TransportConfiguration, _ environment: Environment)
        throws(CurlewError)
    {
        switch configuration.httpVersion {
        case .automatic, .http1_1: break
        case .http2, .http2PriorKnowledge: try environment.capabilities.require(.http2)
        case .http3:
            if let obstacle = HTTP3Plan.obstacle(configuration, environment) { throw obstacle.error }
        }
    }
}
