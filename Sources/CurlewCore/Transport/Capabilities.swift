/// What the libcurl that runs in this process can do.
///
/// It may be newer or older than the one Curlew was compiled against, so ask it and not the header.
public struct Capabilities: Sendable, Hashable {
    /// The version of libcurl, for instance `7.88.1`.
    public var version: String
    /// Major, minor and patch in one comparable number: `0x075801`.
    public var versionNumber: Int
    /// The features by libcurl's names: `HTTP2`, `HTTP3`, `brotli`, `zstd`, `UnixSockets`, `HTTPS-proxy`, …
    public var features: Set<String>
    /// The schemes that libcurl speaks, in small letters.
    public var protocols: Set<String>
    /// The TLS library, for instance `OpenSSL/3.0.15`; nil without TLS.
    public var tlsBackend: String?
    /// Whether name servers can be chosen.
    public var hasCustomResolver: Bool
    /// What speaks QUIC and HTTP/3: `ngtcp2/1.16.0 nghttp3/1.15.0`; nil without HTTP/3.
    public var http3Library: String?
    /// The content codings that are undone, as `Accept-Encoding` names them.
    public var contentCodings: [String]
    /// What encodes international host names for libcurl; nil without. A `URL` has them encoded already.
    public var internationalNameLibrary: String?
    /// What knows the public suffixes that cookies need: `libpsl 0.21.2`; nil without.
    public var publicSuffixLibrary: String?

    /// Makes capabilities, for tests; the running libcurl's are `Capabilities.current`.
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

    /// Whether the library is that version or a later one.
    public func isAtLeast(_ major: Int, _ minor: Int, _ patch: Int) -> Bool {
        versionNumber >= major << 16 | minor << 8 | patch
    }

    /// Whether names can be resolved over HTTPS (`DNSConfiguration.dohURL`).
    public var hasDNSOverHTTPS: Bool { protocols.contains("https") && isAtLeast(7, 62, 0) }

    /// Whether libssl can be asked about libcurl's connections.
    public var usesOpenSSL: Bool { usesTLS("OpenSSL") }

    /// Whether QUIC is OpenSSL's own, which libcurl names by the library that it uses for HTTP/3 on top.
    package var usesQUICOfOpenSSL: Bool { http3Library?.hasPrefix("nghttp3/") == true }

    package func usesTLS(_ backend: String) -> Bool { tlsBackend?.hasPrefix(backend + "/") == true }
}
