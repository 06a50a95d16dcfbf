public import CurlewCore
internal import CurlewTransport

extension SessionConfiguration {
    /// The transport that a session makes by itself: decorate it and give the result to `Session(transport:)`.
    ///
    /// A server trust manager judges servers instead of libcurl; hosts that it leaves to the session follow
    /// `tls.certificateVerification`.
    public func makeTransport(serverTrustManager: ServerTrustManager? = nil) -> any Transport {
        CurlTransport(configuration: transport(judgedBy: serverTrustManager))
    }

    /// What a session with this configuration wants of a transport.
    private func transport(judgedBy serverTrustManager: ServerTrustManager?) -> TransportConfiguration {
        var transport = transport
        if let serverTrustManager {
            transport.trustEvaluation = ManagedTrustEvaluation(
                manager: serverTrustManager,
                verification: tls.certificateVerification
            )
            transport.trustEvaluationReplacesVerification = true
        }
        return transport
    }

    /// The transport, below the configuration's cache if it has one.
    func caching(_ transport: any Transport, judgedBy manager: ServerTrustManager?) -> any Transport {
        guard let cache else { return transport }
        let partitions = CachePartitions(
            self, judgedBy: manager?.identity, over: otherGuards(of: transport, judgedBy: manager))
        return CachingTransport(transport, cache: cache, partitions: partitions)
    }

    /// The guards that a transport sets in another way than this configuration, as far as it knows guards at all.
    func otherGuards(of transport: any Transport, judgedBy manager: ServerTrustManager?) -> TransportGuards {
        let enforced = transport.enforcedGuards(of: self.transport(judgedBy: manager))
        return enforced.isEmpty ? [] : TransportGuards.all.subtracting(enforced)
    }

    /// Why requests may not go over a transport: it does not enforce what the configuration sets.
    func refusal(of transport: any Transport, _ serverTrustManager: ServerTrustManager?) -> CurlewError? {
        let wanted = self.transport(judgedBy: serverTrustManager)
        var guards = wanted.guards
        if proxyRouting != nil { guards.insert(.proxy) }
        guard !guards.isEmpty else { return nil }
        let ignored = guards.subtracting(transport.enforcedGuards(of: wanted))
        guard !ignored.isEmpty else { return nil }
        return .unsupported(
            feature: "\(ignored.names.joined(separator: ", ")) over this transport",
            needs: "one that enforces it (Transport.enforcedGuards)"
        )
    }
}

extension Capabilities {
    /// What the libcurl in this process can do, and what stands beside it, asked once.
    public static let current: Capabilities = {
        var capabilities = Capabilities.ofLibcurl
        capabilities.publicSuffixLibrary = SystemPublicSuffixes.library
        return capabilities
    }()
}
