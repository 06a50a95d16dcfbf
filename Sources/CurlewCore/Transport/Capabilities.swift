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

    /// Whether libcurl has this version or a later one.
    package func isAtLeast(_ major: Int, _ minor: Int, _ patch: Int) -> Bool {
        versionNumber >= major << 16 | minor << 8 | patch
    }

    /// Whether names can be resolved over HTTPS (`DNSConfiguration.dohURL`).
    package var hasDNSOverHTTPS: Bool { protocols.contains("https") && isAtLeast(7, 62, 0) }

    /// Whether the TLS library is OpenSSL, so that libssl can be asked about libcurl's connections.
    package var usesOpenSSL: Bool { usesTLS("OpenSSL") }

    /// Whether OpenSSL implements QUIC. libcurl then reports only nghttp3, its HTTP/3 library on top of it.
    package var usesQUICOfOpenSSL: Bool { http3Library?.hasPrefix("nghttp3/") == true }

    package func usesTLS(_ backend: String) -> Bool { tlsBackend?.hasPrefix(backend + "/") == true }
}
