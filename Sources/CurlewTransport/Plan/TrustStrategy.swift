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
    /// One X509_STORE for all connections.
    case sharedStore(Source)
    /// The chain is not looked at.
    case unused

    /// What a shared store is filled from.
    enum Source: Equatable, Sendable {
        /// The paths that OpenSSL was built with.
        case defaultPaths
        case file(String)
        case directory(String)
        case pem(Data)
    }

    init(_ tls: TLSConfiguration, capabilities: Capabilities, systemBundle: String?, hasEvaluator: Bool) {
        let verifies = tls.certificateVerification != .none
        guard verifies || hasEvaluator else {
            self = .unused
            return
        }
        // By libcurl's sources: the cache came with 7.87.0 and changed its rules after 8.20.
        let hasCache = verifies && capabilities.isAtLeast(7, 87, 0) && !capabilities.isAtLeast(8, 21, 0)
        // Where libcurl does not verify it loads no roots either: an evaluator would be told that no root fits.
        let needsStore = capabilities.usesOpenSSL && !verifies
        let prefersStore = capabilities.usesOpenSSL && !hasCache
        switch tls.trustRoots {
        case .system:
            if hasCache, systemBundle != nil {
                self = .cachedBundle
            } else {
                let source = systemBundle.map(Source.file) ?? .defaultPaths
                self = capabilities.usesOpenSSL ? .sharedStore(source) : .libcurlDefault
            }
        case .pem(let data): self = prefersStore ? .sharedStore(.pem(data)) : .cachedPEM(data)
        case .file(let url):
            let path = url.path(percentEncoded: false)
            self = prefersStore ? .sharedStore(.file(path)) : .cachedFile(path)
        case .directory(let url):
            let path = url.path(percentEncoded: false)
            self = needsStore ? .sharedStore(.directory(path)) : .directory(path)
        }
    }
}
