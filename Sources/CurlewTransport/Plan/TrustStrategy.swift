internal import CurlewCore
internal import Foundation

/// The way in which a transport's connections get their trusted roots.
///
/// Parsing the system's bundle takes 17 ms. libcurl parses it for every new connection unless it can use its cache. A
/// directory of certificates (Debian's default), a blob, a revocation list and disabled verification all prevent that.
enum TrustStrategy: Equatable, Sendable {
    /// libcurl's compiled-in defaults: slow, used if there is neither a cache nor a shared store.
    case libcurlDefault
    /// libcurl's compiled-in bundle without the compiled-in directory, so that libcurl's cache works.
    case cachedBundle
    case cachedFile(String)
    /// Bytes in a memory file, so that libcurl's cache works.
    case cachedPEM(Data)
    case directory(String)
    /// One X509_STORE for all connections.
    case sharedStore(Source)
    /// The chain is not verified.
    case unused

    /// The origin of a shared store's roots.
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
        let hasCache = verifies && capabilities.hasCertificateCache
        // If libcurl does not verify, it loads no roots either, and an evaluator would be told that no root fits.
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
