internal import CCurl
internal import CurlewCore
internal import Foundation

/// Whether HTTP/3 may be used: over QUIC libcurl cannot do everything that may be asked of it.
enum HTTP3Plan {
    /// What is asked for, and what it needs.
    struct Obstacle: Equatable, Sendable {
        let feature: String
        let needs: String

        init(_ feature: ConditionalFeature) { self.init(feature.name, needs: feature.needs) }

        init(_ feature: String, needs: String) {
            self.feature = feature
            self.needs = needs
        }
    }

    /// What of a configuration stands in the way of HTTP/3; nil where nothing does. What would be ignored counts as well.
    static func obstacle(_ configuration: TransportConfiguration, _ surroundings: ConnectionPlan.Surroundings)
        -> Obstacle?
    {
        let (capabilities, tls) = (surroundings.capabilities, configuration.tls)
        guard ConditionalFeature.http3.isPossible(capabilities) else { return Obstacle(.http3) }
        guard capabilities.isAtLeast(7, 88, 0) else { return Obstacle("HTTP/3", needs: "libcurl 7.88") }
        if capabilities.usesQUICOfOpenSSL, !configuration.allowsExperimentalHTTP3 {
            return Obstacle(
                "HTTP/3 over OpenSSL's QUIC",
                needs: "libcurl with ngtcp2, or allowsExperimentalHTTP3: bodies may get trailers, uploads may break")
        }
        if surroundings.effective(configuration.proxy) != .none {
            return Obstacle("HTTP/3 through a proxy", needs: "a direct connection (proxy = .none)")
        }
        if configuration.unixSocketPath != nil { return Obstacle("HTTP/3 over a Unix socket", needs: "a network") }
        // CURLINFO_TLS_SSL_PTR has no connection over QUIC whose chain could be shown.
        if configuration.trustEvaluation != nil { return Obstacle("trust evaluation over HTTP/3", needs: "HTTP/2") }
        if !tls.usesALPN { return Obstacle("HTTP/3 without ALPN", needs: "usesALPN") }
        if let maximum = tls.maximumVersion, maximum.rawValue < TLSVersion.v1_3.rawValue {
            return Obstacle("HTTP/3 below TLS 1.3", needs: "TLS 1.3, which is QUIC's")
        }
        // libcurl has suites of its own for QUIC.
        if tls.cipherList != nil || tls.tls13CipherSuites != nil {
            return Obstacle("a choice of cipher suites over HTTP/3", needs: "HTTP/2")
        }
        if mayIgnoreChain(tls), !ConditionalFeature.quicWithoutNameVerification.isPossible(capabilities) {
            return Obstacle(.quicWithoutNameVerification)
        }
        return nil
    }

    /// What some libcurls leave unchecked over QUIC.
    private static func mayIgnoreChain(_ tls: TLSConfiguration) -> Bool {
        switch tls.certificateVerification {
        case .full: false
        case .noHostnameVerification: true
        case .none: !tls.publicKeyPins.isEmpty || tls.requiresOCSPStapling
        }
    }

    /// What servers announce, where it can be used.
    static func alternatives(
        _ configuration: TransportConfiguration, _ surroundings: ConnectionPlan.Surroundings
    ) -> (any AlternativeServices)? {
        guard let alternatives = configuration.alternativeServices, configuration.httpVersion == .automatic,
            // What leads past resolvers and ports was decided for TCP.
            configuration.tls.connectTo.isEmpty, obstacle(configuration, surroundings) == nil
        else { return nil }
        return alternatives
    }

    /// RFC 7838, 2.1: another host must prove with its certificate that it may speak for the origin.
    static func freedom(_ configuration: TransportConfiguration) -> AlternativeFreedom {
        configuration.tls.certificateVerification == .full ? .anyHost : .sameHost
    }

    /// Whether nothing of a request's own wishes needs TCP.
    static func allows(_ options: TransferOptions, _ capabilities: Capabilities) -> Bool {
        guard options.multiplexes, case .normal = options.trafficClass else { return false }
        // A reader that takes its time would have all of the body in memory.
        if options.purpose != .memory, capabilities.readsQUICWhilePaused { return false }
        if options.hasAuthentication {
            switch options.authentication?.scheme {
            // They belong to a connection of HTTP/1.1, or may turn out to.
            case .any, .ntlm, .negotiate: return false
            case nil, .basic, .digest, .bearer, .awsSigV4: break
            }
        }
        return options.proxy == nil || options.proxy == Proxy.none
    }

    /// Where nothing but HTTP/3 will do.
    static func check(_ options: TransferOptions, isTLS: Bool) throws(CurlewError) {
        guard isTLS else { throw .unsupported(feature: "HTTP/3 without TLS", needs: "an https URL") }
        // What the environment names is libcurl's to read, and to refuse.
        guard case .url? = options.proxy else { return }
        throw .unsupported(feature: "HTTP/3 through a proxy", needs: "a direct connection")
    }
}
