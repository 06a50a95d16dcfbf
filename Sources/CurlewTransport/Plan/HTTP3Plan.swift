internal import CCurl
internal import CurlewCore
internal import Foundation

/// Decides whether HTTP/3 may be used. Over QUIC libcurl does not support everything that a configuration can ask for.
enum HTTP3Plan {
    /// A feature that HTTP/3 cannot provide, and the condition under which it could.
    struct Obstacle: Equatable, Sendable {
        let feature: String
        let needs: String
        /// Whether a different libcurl would remove the obstacle.
        let isOfLibcurl: Bool

        init(_ feature: ConditionalFeature) { self.init(feature.name, needs: feature.needs, isOfLibcurl: true) }

        init(_ feature: String, needs: String, isOfLibcurl: Bool = false) {
            self.feature = feature
            self.needs = needs
            self.isOfLibcurl = isOfLibcurl
        }

        var error: CurlewError {
            isOfLibcurl ? .lacking(feature: feature, needs: needs) : .unsupported(feature: feature, needs: needs)
        }
    }

    /// Returns the first setting that HTTP/3 would violate or ignore; `nil` if there is none.
    static func obstacle(_ configuration: TransportConfiguration, _ environment: TransportPlan.Environment)
        -> Obstacle?
    {
        let (capabilities, tls) = (environment.capabilities, configuration.tls)
        guard ConditionalFeature.http3.isPossible(capabilities) else { return Obstacle(.http3) }
        guard capabilities.quirks.racesQUIC else {
            return Obstacle("HTTP/3", needs: "libcurl 7.88", isOfLibcurl: true)
        }
        if capabilities.usesQUICOfOpenSSL, !configuration.allowsExperimentalHTTP3 {
            return Obstacle(
                "HTTP/3 over OpenSSL's QUIC",
                needs: "libcurl with ngtcp2, or allowsExperimentalHTTP3: bodies may get trailers, uploads may break")
        }
        if environment.effective(configuration.proxy) != .none {
            return Obstacle("HTTP/3 through a proxy", needs: "a direct connection (proxy = .none)")
        }
        if configuration.unixSocketPath != nil { return Obstacle("HTTP/3 over a Unix socket", needs: "a network") }
        // Over QUIC, CURLINFO_TLS_SSL_PTR yields no connection, so the evaluator could not see the chain.
        if configuration.trustEvaluation != nil { return Obstacle("trust evaluation over HTTP/3", needs: "HTTP/2") }
        if !tls.usesALPN { return Obstacle("HTTP/3 without ALPN", needs: "usesALPN") }
        if let maximum = tls.maximumVersion, maximum.rawValue < TLSVersion.v1_3.rawValue {
            return Obstacle("HTTP/3 below TLS 1.3", needs: "TLS 1.3, which is QUIC's")
        }
        // libcurl chooses the suites for QUIC itself.
        if tls.cipherList != nil || tls.tls13CipherSuites != nil {
            return Obstacle("a choice of cipher suites over HTTP/3", needs: "HTTP/2")
        }
        if mayIgnoreChain(tls), !ConditionalFeature.quicWithoutNameVerification.isPossible(capabilities) {
            return Obstacle(.quicWithoutNameVerification)
        }
        return nil
    }

    /// Whether some versions of libcurl would skip a check over QUIC that the configuration asks for.
    private static func mayIgnoreChain(_ tls: TLSConfiguration) -> Bool {
        switch tls.certificateVerification {
        case .full: false
        case .noHostnameVerification: true
        case .none: !tls.publicKeyPins.isEmpty || tls.requiresOCSPStapling
        }
    }

    /// The alternative services of the configuration; `nil` if HTTP/3 cannot be used.
    static func alternatives(
        _ configuration: TransportConfiguration, _ environment: TransportPlan.Environment
    ) -> (any AlternativeServices)? {
        guard let alternatives = configuration.alternativeServices, configuration.httpVersion == .automatic,
            // `connectTo` names hosts and ports that were chosen for TCP.
            configuration.tls.connectTo.isEmpty, obstacle(configuration, environment) == nil
        else { return nil }
        return alternatives
    }

    /// The alternatives that requests may use.
    static func freedom(_ configuration: TransportConfiguration) -> AlternativeFreedom {
        // The resolver is asked for the origin, and its answer says nothing about another host or port.
        if configuration.dns.ownResolver != nil { return .sameEndpoint }
        // RFC 7838, 2.1: an alternative on another host must prove with its certificate that it may speak for the
        // origin.
        return configuration.tls.certificateVerification == .full ? .anyHost : .sameHost
    }

    /// Whether the request's options permit HTTP/3 as an alternative.
    static func allows(_ options: TransferOptions, _ capabilities: Capabilities) -> Bool {
        guard options.multiplexes, case .normal = options.trafficClass else { return false }
        // Such a libcurl reads on while the transfer is paused, so with a slow reader it buffers the whole body.
        if options.purpose != .memory, capabilities.quirks.readsQUICWhilePaused { return false }
        if options.hasAuthentication {
            switch options.authentication?.scheme {
            // These authenticate a connection of HTTP/1.1, or may choose a scheme that does.
            case .any, .ntlm, .negotiate: return false
            case nil, .basic, .digest, .bearer, .awsSigV4: break
            }
        }
        return options.proxy == nil || options.proxy == Proxy.none
    }

    /// Throws if a transport that speaks only HTTP/3 cannot send the request.
    static func check(_ options: TransferOptions, isTLS: Bool) throws(CurlewError) {
        guard isTLS else { throw .unsupported(feature: "HTTP/3 without TLS", needs: "an https URL") }
        // libcurl reads the environment's proxy itself, and refuses it.
        guard case .url? = options.proxy else { return }
        throw .unsupported(feature: "HTTP/3 through a proxy", needs: "a direct connection")
    }
}

/// An HTTP/3 route as options, which are appended to those of the usual route. If it tries an alternative, its owner
/// must call `ended`. A class, so that an absent route costs one pointer in every plan.
final class PlannedRoute: Sendable {
    let route: AlternativeRoute
    private let services: any AlternativeServices
    let settings: [OptionValue]
    /// The field that names the alternative service in use (RFC 7838, 5).
    let headerLine: String

    /// The connect timeout if libcurl does not race QUIC with TCP. After it the request is sent to the origin.
    static let patience = Duration.seconds(3)

    init(
        _ route: AlternativeRoute, of services: any AlternativeServices, _ configuration: TransportConfiguration,
        _ timeouts: Timeouts
    ) {
        (self.route, self.services) = (route, services)
        headerLine = "Alt-Used: \(route.authority)"
        switch route.mode {
        case .raced:
            // Without a fresh connection libcurl would use an existing one and not race.
            settings = [
                .long(CURLOPT_HTTP_VERSION, Int(CURLEW_HTTP_VERSION_3)), .long(CURLOPT_FRESH_CONNECT, 1),
            ]
        case .alone:
            // The other half of the connect timeout is left for the origin.
            let patience = timeouts.connect.map { min(Self.patience, $0 / 2) } ?? Self.patience
            var settings: [OptionValue] = [
                .long(CURLOPT_HTTP_VERSION, Int(CURLEW_HTTP_VERSION_3ONLY)),
                .long(CURLOPT_CONNECTTIMEOUT_MS, max(1, patience.clampedMilliseconds)),
            ]
            if route.isElsewhere {
                // Host name and certificate remain those of the origin: CURLOPT_CONNECT_TO(3).
                settings.append(.list(CURLOPT_CONNECT_TO, ["::\(route.authority)"]))
                settings += DNSPlan.overrides(
                    configuration.dns, host: route.host ?? route.origin.host, port: route.port)
            }
            self.settings = settings
        }
    }

    /// Reports whether the route has worked.
    func ended(_ end: AlternativeEnd) { services.ended(route, end) }
}
