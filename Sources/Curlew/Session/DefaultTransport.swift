public import CurlewCore
internal import CurlewTransport

extension SessionConfiguration {
    /// Returns the transport that a session creates by default: decorate it and give the result to
    /// `Session(transport:)`.
    ///
    /// A server trust manager evaluates servers instead of libcurl; hosts that it leaves to the session follow
    /// `tls.certificateVerification`.
    public func makeTransport(serverTrustManager: ServerTrustManager? = nil) -> any Transport {
        CurlTransport(configuration: transport(trustManager: serverTrustManager))
    }

    /// Returns the transport configuration, with the trust evaluation of the manager.
    private func transport(trustManager: ServerTrustManager?) -> TransportConfiguration {
        var transport = transport
        if let trustManager {
            transport.trustEvaluation = ManagedTrustEvaluation(
                manager: trustManager,
                verification: tls.certificateVerification
            )
            transport.trustEvaluationReplacesVerification = true
        }
        return transport
    }

    /// Returns the transport, with hedging in front of it if the configuration's resilience has it.
    func hedging(_ transport: any Transport, by control: ResilienceControl?) -> any Transport {
        guard let control, let hedging = control.settings.hedging else { return transport }
        return HedgingTransport(transport, hedging, control)
    }

    /// Returns the transport, with the configuration's cache in front of it if there is one.
    func caching(_ transport: any Transport, trustManager: ServerTrustManager?) -> any Transport {
        guard let cache else { return transport }
        let partitions = CachePartitions(
            self, evaluatedBy: trustManager?.identity, over: otherGuards(of: transport, trustManager: trustManager))
        return CachingTransport(transport, cache: cache, partitions: partitions)
    }

    /// Returns the guards that a transport sets differently from this configuration. Empty if it declares no guards.
    func otherGuards(of transport: any Transport, trustManager: ServerTrustManager?) -> TransportGuards {
        let enforced = transport.enforcedGuards(of: self.transport(trustManager: trustManager))
        return enforced.isEmpty ? [] : TransportGuards.all.subtracting(enforced)
    }

    /// Returns the error of all requests over a transport that does not enforce the configuration's guards, or `nil`.
    func refusal(of transport: any Transport, _ serverTrustManager: ServerTrustManager?) -> CurlewError? {
        let wanted = self.transport(trustManager: serverTrustManager)
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

extension Session {
    /// The transport below the cache and hedging, for exchanges that have neither.
    nonisolated var network: any Transport {
        let belowCache = (transport as? CachingTransport)?.context.network ?? transport
        return (belowCache as? HedgingTransport)?.network ?? belowCache
    }
}

extension Capabilities {
    /// The capabilities of libcurl in this process, and of the public suffix library, determined once.
    public static let current: Capabilities = {
        var capabilities = Capabilities.ofLibcurl
        capabilities.publicSuffixLibrary = SystemPublicSuffixes.library
        return capabilities
    }()
}
