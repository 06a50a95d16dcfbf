/// The abilities of the libcurl that runs in this process.
///
/// It may be newer or older than the libcurl against which Curlew was compiled, so check this value at run time.
public struct Capabilities: Sendable, Hashable {
    /// The version of libcurl, for instance `7.88.1`.
    public var version: String
    /// Major, minor and patch in one comparable number: `0x075801`.
    package var versionNumber: Int
    /// The features, with libcurl's names: `HTTP2`, `HTTP3`, `brotli`, `zstd`, `UnixSockets`, `HTTPS-proxy`, …
    public var features: Set<String>
    /// The URL schemes that libcurl supports, in lower case.
    public var protocols: Set<String>
    /// The TLS library, for instance `OpenSSL/3.0.15`; `nil` without TLS.
    public var tlsBackend: String?
    /// Whether name servers can be chosen.
    public var hasCustomResolver: Bool
    /// The libraries for QUIC and HTTP/3, for instance `ngtcp2/1.16.0 nghttp3/1.15.0`; `nil` without HTTP/3.
    public var http3Library: String?
    /// The content codings that are decoded, with their names in `Accept-Encoding`.
    public var contentCodings: [String]
    /// The library with which libcurl encodes international host names; `nil` if there is none. The host of a `URL` is
    /// encoded already.
    package var internationalNameLibrary: String?
    /// The library that knows the public suffixes, which cookies need: `libpsl 0.21.2`; `nil` if there is none.
    package var publicSuffixLibrary: String?

    /// Creates capabilities for tests. Those of the running libcurl are `Capabilities.current`.
    package init(
        version: String,
        versionNumber: Int,
        features: Set<String>,
        protocols: Set<String>,
        tlsBackend: String?,
        hasCustomResolver: Bool,
        http3Library: String? = nil,
        contentCodings: [String] = [],
        internationalNameLibrary: String? = nil,
        publicSuffixLibrary: String? = nil
    ) {
        self.version = version
        self.versionNumber = versionNumber
        self.features = features
        self.protocols = protocols
        self.tlsBackend = tlsBackend
        self.hasCustomResolver = hasCustomResolver
        self.http3Library = http3Library
        self.contentCodings = contentCodings
        self.internationalNameLibrary = internationalNameLibrary
        self.publicSuffixLibrary = publicSuffixLibrary
    }

    /// Whether libcurl has this version or a later one. Behaviour that depends on the version belongs in `quirks`.
    package func isAtLeast(_ major: Int, _ minor: Int, _ patch: Int) -> Bool {
        versionNumber >= major << 16 | minor << 8 | patch
    }

    /// Whether names can be resolved over HTTPS (`DNSConfiguration.dohURL`).
    package var hasDNSOverHTTPS: Bool { protocols.contains("https") }

    /// Whether the TLS library is OpenSSL, so that libssl can be asked about libcurl's connections.
    package var usesOpenSSL: Bool { usesTLS("OpenSSL") }

    /// Whether OpenSSL implements QUIC. libcurl then reports only nghttp3, its HTTP/3 library on top of it.
    package var usesQUICOfOpenSSL: Bool { http3Library?.hasPrefix("nghttp3/") == true }

    package func usesTLS(_ backend: String) -> Bool { tlsBackend?.hasPrefix(backend + "/") == true }
}

extension Capabilities {
    /// A feature that the running libcurl cannot provide. A request that needs it fails with
    /// `CurlewError.Code.unsupported`.
    public struct Refusal: Sendable, Hashable {
        /// The missing feature, for instance `HTTP/3`.
        public let feature: String
        /// The requirement of the feature, for instance `libcurl built with HTTP/3`.
        public let needs: String
    }

    /// All features that the running libcurl cannot provide, each with its requirement.
    public var refusals: [Refusal] {
        ConditionalFeature.allCases.filter { !$0.isPossible(self) }.map { Refusal(feature: $0.name, needs: $0.needs) }
    }

    /// Throws `.unsupported` if the running libcurl does not have the feature.
    package func require(_ feature: ConditionalFeature) throws(CurlewError) {
        if !feature.isPossible(self) { throw .lacking(feature: feature.name, needs: feature.needs) }
    }
}

extension CurlewError {
    /// The suggestion for a feature that another libcurl may have.
    package static let lacksFeature = "Install a libcurl that has the feature."

    /// The error for a feature that another libcurl may have.
    package static func lacking(feature: String, needs: String) -> CurlewError {
        var error = unsupported(feature: feature, needs: needs)
        error.suggestion = lacksFeature
        return error
    }
}

/// The features that depend on libcurl's version, build options and TLS library.
///
/// Both `Capabilities.require(_:)`, which plans call, and `Capabilities.refusals` use `isPossible`, so they agree.
package enum ConditionalFeature: CaseIterable, Sendable {
    case http2
    case http3
    case httpsProxy
    case unixSocket
    case ntlm
    case negotiate
    case nameServers
    case interfaceWithAddress
    case prewarming
    case connectionRetirement
    case http2Ping
    case trustEvaluation
    case revocationList
    case ocspStapling
    case identityInMemory
    case keyLog
    case quicWithoutNameVerification

    package var name: String {
        switch self {
        case .http2: "HTTP/2"
        case .http3: "HTTP/3"
        case .httpsProxy: "an https proxy"
        case .unixSocket: "a Unix socket"
        case .ntlm: "NTLM authentication"
        case .negotiate: "SPNEGO authentication"
        case .nameServers: "choosing DNS servers"
        case .interfaceWithAddress: "an interface together with a local address"
        case .prewarming: "opening connections in advance"
        case .connectionRetirement: "a limit on the age or the requests of a connection"
        case .http2Ping: "HTTP/2 PING"
        case .trustEvaluation: "trust evaluation"
        case .revocationList: "a revocation list"
        case .ocspStapling: "required OCSP stapling"
        case .identityInMemory: "a client identity in memory"
        case .keyLog: "a TLS key log"
        case .quicWithoutNameVerification: "HTTP/3 without name verification"
        }
    }

    package var needs: String {
        switch self {
        case .http2: "libcurl built with nghttp2"
        case .http3: "libcurl built with HTTP/3"
        case .httpsProxy: "libcurl with HTTPS-proxy"
        case .unixSocket: "libcurl built with UnixSockets"
        case .ntlm: "libcurl built with NTLM"
        case .negotiate: "libcurl built with SPNEGO"
        case .nameServers: "a libcurl built with c-ares"
        case .interfaceWithAddress: "libcurl 8.9"
        case .prewarming, .connectionRetirement: "libcurl 7.80"
        case .http2Ping: "libcurl 8.10 built with nghttp2"
        case .trustEvaluation: "libcurl 7.80 with OpenSSL"
        case .revocationList: "libcurl with OpenSSL or GnuTLS"
        case .ocspStapling: "libcurl with OpenSSL, or 8.10 with GnuTLS"
        case .identityInMemory, .keyLog: "libcurl with OpenSSL"
        case .quicWithoutNameVerification: "libcurl with OpenSSL, or 8.18"
        }
    }

    package func isPossible(_ capabilities: Capabilities) -> Bool {
        switch self {
        case .http2: return capabilities.features.contains("HTTP2")
        case .http3: return capabilities.features.contains("HTTP3")
        case .httpsProxy: return capabilities.features.contains("HTTPS-proxy")
        case .unixSocket: return capabilities.features.contains("UnixSockets")
        case .ntlm: return capabilities.features.contains("NTLM")
        case .negotiate: return capabilities.features.contains("SPNEGO")
        case .nameServers: return capabilities.hasCustomResolver
        case .interfaceWithAddress: return capabilities.quirks.bindsInterfaceWithAddress
        case .prewarming, .connectionRetirement: return capabilities.quirks.asksBeforeSending
        case .http2Ping: return capabilities.features.contains("HTTP2") && capabilities.quirks.sendsPings
        case .trustEvaluation: return capabilities.usesOpenSSL && capabilities.quirks.asksBeforeSending
        // The TLS libraries that CURLOPT_CRLFILE(3) lists.
        case .revocationList:
            let backends = [
                "OpenSSL", "GnuTLS", "mbedTLS", "wolfSSL", "LibreSSL", "BoringSSL", "AWS-LC", "quictls",
            ]
            return backends.contains(where: capabilities.usesTLS)
        case .ocspStapling:
            return ["OpenSSL", "LibreSSL", "quictls"].contains(where: capabilities.usesTLS)
                || capabilities.usesTLS("GnuTLS") && !capabilities.quirks.acceptsAnyStapleWithGnuTLS
        // With GnuTLS, libcurl accepts an identity in memory but ignores it, and sends the request anonymously.
        case .identityInMemory, .keyLog: return capabilities.usesOpenSSL
        case .quicWithoutNameVerification:
            return !capabilities.usesTLS("GnuTLS") || !capabilities.quirks.ignoresQUICChainWithGnuTLS
        }
    }
}
