internal import CurlewCore
internal import Foundation

/// How a transport's connections come by their trusted roots.
///
/// Parsing the system's bundle takes 17 ms. libcurl parses it for every new connection unless its
/// cache can be used, which a directory of certificates (Debian's default), a blob, a revocation list
/// and switched-off verification all prevent.
enum TrustStrategy: Equatable, Sendable {
    /// As libcurl was built: the slow way, where neither of the fast ones is possible.
    case libcurlDefault
    /// libcurl's own bundle, without the directory, so that its cache works.
    case cachedBundle
    case cachedFile(String)
    /// Bytes put into a file in memory, so that libcurl's cache works.
    case cachedPEM(Data)
    case directory(String)
    /// One X509_STORE for all connections; nil is the system's paths.
    case sharedStore(file: String?)
    /// Nobody looks at the chain.
    case unused

    init(_ tls: TLSConfiguration, capabilities: Capabilities, systemBundle: String?, hasEvaluator: Bool) {
        let verifies = tls.certificateVerification != .none
        guard verifies || hasEvaluator else {
            self = .unused
            return
        }
        // By libcurl's sources: the cache came with 7.87.0 and changed its rules after 8.20.
        let hasCache = verifies && capabilities.isAtLeast(7, 87, 0) && !capabilities.isAtLeast(8, 21, 0)
        switch tls.trustRoots {
        case .system:
            if hasCache, systemBundle != nil {
                self = .cachedBundle
            } else {
                self = capabilities.usesOpenSSL ? .sharedStore(file: systemBundle) : .libcurlDefault
            }
        case .pem(let data): self = .cachedPEM(data)
        case .file(let url):
            let path = url.path(percentEncoded: false)
            self = hasCache || !capabilities.usesOpenSSL ? .cachedFile(path) : .sharedStore(file: path)
        case .directory(let url): self = .directory(url.path(percentEncoded: false))
        }
    }
}
