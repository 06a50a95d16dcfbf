internal import CCurl
public import CurlewCore
internal import Glibc

extension Capabilities {
    /// The capabilities of the libcurl in this process, read once.
    public static let ofLibcurl: Capabilities = {
        _ = CurlGlobal.isReady
        guard let info = curlew_version_info()?.pointee else {
            return Capabilities(
                version: "", versionNumber: 0, features: [], protocols: [], tlsBackend: nil, hasCustomResolver: false)
        }
        var capabilities = Capabilities(
            version: info.version.map { String(cString: $0) } ?? "",
            versionNumber: Int(info.version_num),
            features: Set(featureBits.filter { Int(info.features) & 1 << $0.bit != 0 }.map(\.name)),
            protocols: names(info.protocols),
            tlsBackend: info.ssl_version.map { String(cString: $0) },
            hasCustomResolver: info.ares_num != 0,
            http3Library: info.quic_version.map { String(cString: $0) },
            internationalNameLibrary: info.libidn.map { "libidn2 " + String(cString: $0) }
        )
        for name in namedFeatures where curlew_has_named_feature(name) != 0 { capabilities.features.insert(name) }
        capabilities.contentCodings = ContentCoding.names(offeredBy: capabilities)
        return capabilities
    }()

    // curl_version_info(3), CURL_VERSION_*. The bits are older than the list of names (7.87).
    private static let featureBits: [(bit: Int, name: String)] = [
        (0, "IPv6"), (2, "SSL"), (3, "libz"), (4, "NTLM"), (7, "AsynchDNS"), (8, "SPNEGO"), (9, "Largefile"),
        (10, "IDN"), (13, "TrackMemory"), (14, "TLS-SRP"), (16, "HTTP2"), (17, "GSS-API"), (18, "Kerberos"),
        (19, "UnixSockets"), (20, "PSL"), (21, "HTTPS-proxy"), (22, "MultiSSL"), (23, "brotli"), (24, "alt-svc"),
        (25, "HTTP3"), (26, "zstd"), (28, "HSTS"), (29, "gsasl"), (30, "threadsafe"),
    ]

    /// Features without a bit.
    private static let namedFeatures = ["HTTPSRR"]

    private static func names(_ list: UnsafePointer<UnsafePointer<CChar>?>?) -> Set<String> {
        var result: Set<String> = []
        var next = list
        while let pointer = next, let name = pointer.pointee {
            result.insert(String(cString: name))
            next = pointer + 1
        }
        return result
    }
}

/// Initializes libcurl for the process, once before its first use. The initialization is never undone.
///
/// A constructor in `curlew_tls.c` has already told OpenSSL not to clean up at exit.
enum CurlGlobal {
    static let isReady: Bool = {
        curlew_openssl_take_indexes()
        return curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
    }()
}
