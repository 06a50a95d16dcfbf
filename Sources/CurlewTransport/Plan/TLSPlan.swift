internal import CCurl
internal import CurlewCore
internal import Foundation

/// Translates the TLS configuration into options. `TrustMaterial` adds the path of a PEM file in memory.
enum TLSPlan {
    static func options(_ tls: TLSConfiguration, _ trust: TrustStrategy, _ capabilities: Capabilities)
        throws(CurlewError) -> [OptionValue]
    {
        var options = versions(tls)
        switch tls.certificateVerification {
        case .full: break
        case .noHostnameVerification:
            options += [.long(CURLOPT_SSL_VERIFYHOST, 0), .long(CURLOPT_PROXY_SSL_VERIFYHOST, 0)]
        case .none:
            options += [.long(CURLOPT_SSL_VERIFYPEER, 0), .long(CURLOPT_SSL_VERIFYHOST, 0)]
            options += [.long(CURLOPT_PROXY_SSL_VERIFYPEER, 0), .long(CURLOPT_PROXY_SSL_VERIFYHOST, 0)]
        }
        options += roots(trust)
        if let identity = tls.clientIdentity {
            options += clientOptions(identity)
            let isInMemory = if case .files = identity { false } else { true }
            if isInMemory { try capabilities.require(.identityInMemory) }
        }
        if !tls.publicKeyPins.isEmpty {
            let pins = try tls.publicKeyPins.map { text throws(CurlewError) in try pin(text) }
            options.append(.string(CURLOPT_PINNEDPUBLICKEY, pins.joined(separator: ";")))
        }
        // GnuTLS has another notation for ciphers.
        if tls.cipherList != nil || tls.tls13CipherSuites != nil, capabilities.usesTLS("GnuTLS") {
            throw .lacking(feature: "a list of ciphers", needs: "libcurl with OpenSSL")
        }
        if let list = tls.cipherList { options.append(.string(CURLOPT_SSL_CIPHER_LIST, list)) }
        if let suites = tls.tls13CipherSuites { options.append(.string(CURLOPT_TLS13_CIPHERS, suites)) }
        if !tls.usesALPN { options.append(.long(CURLOPT_SSL_ENABLE_ALPN, 0)) }
        if !tls.connectTo.isEmpty {
            let lines = tls.connectTo.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }
            options.append(.list(CURLOPT_CONNECT_TO, lines))
        }
        if let list = tls.certificateRevocationList { options += try revocations(list, trust, capabilities) }
        if tls.requiresOCSPStapling {
            try capabilities.require(.ocspStapling)
            // A server staples nothing when it resumes a session. In addition, libcurl 8.5.0 caches the sessions of
            // servers that it refused (CVE-2024-0853).
            options += [.long(CURLOPT_SSL_VERIFYSTATUS, 1), .long(CURLOPT_SSL_SESSIONID_CACHE, 0)]
        }
        if tls.keyLogFile != nil { try capabilities.require(.keyLog) }
        return options
    }

    /// Throws if a pin is malformed. libcurl would refuse every server with it and report that the key does not match.
    private static func pin(_ text: String) throws(CurlewError) -> String {
        if let pin = PublicKeyPin(text) { return pin.text }
        throw CurlewError(
            .requestCreationFailed, phase: .creation,
            reason: "the public key pin \"\(text)\" is not \"sha256//\" and the base64 of 32 bytes")
    }

    /// Returns the options for a revocation list. The list is either enforced or refused, never ignored.
    private static func revocations(_ list: URL, _ trust: TrustStrategy, _ capabilities: Capabilities)
        throws(CurlewError) -> [OptionValue]
    {
        switch trust {
        // `TrustMaterial` loads the list into the shared store, which replaces the store that libcurl would load it
        // into.
        case .sharedStore: return []
        case .unused: throw .unsupported(feature: "a revocation list", needs: "verification of certificates")
        case .libcurlDefault, .cachedBundle, .cachedFile, .cachedPEM, .directory:
            try capabilities.require(.revocationList)
            return [.string(CURLOPT_CRLFILE, list.path(percentEncoded: false))]
        }
    }

    private static func versions(_ tls: TLSConfiguration) -> [OptionValue] {
        // CURL_SSLVERSION_TLSv1_0 … 1_3 are 4 … 7; the maximum is the same number in the upper half.
        let minimum = 4 + tls.minimumVersion.rawValue
        let maximum = tls.maximumVersion.map { (4 + $0.rawValue) << 16 } ?? 0
        return [
            .long(CURLOPT_SSLVERSION, minimum | maximum), .long(CURLOPT_PROXY_SSLVERSION, minimum | maximum),
        ]
    }

    private static func roots(_ trust: TrustStrategy) -> [OptionValue] {
        switch trust {
        case .libcurlDefault: []
        case .cachedBundle: [.null(CURLOPT_CAPATH), .null(CURLOPT_PROXY_CAPATH)]
        case .cachedFile(let path): file(path)
        // `TrustMaterial` sets the path, because it has the descriptor.
        case .cachedPEM: []
        case .directory(let path):
            [
                .null(CURLOPT_CAINFO), .string(CURLOPT_CAPATH, path),
                .null(CURLOPT_PROXY_CAINFO), .string(CURLOPT_PROXY_CAPATH, path),
            ]
        case .sharedStore, .unused:
            [
                .null(CURLOPT_CAINFO), .null(CURLOPT_CAPATH),
                .null(CURLOPT_PROXY_CAINFO), .null(CURLOPT_PROXY_CAPATH),
            ]
        }
    }

    static func file(_ path: String) -> [OptionValue] {
        [
            .string(CURLOPT_CAINFO, path), .null(CURLOPT_CAPATH),
            .string(CURLOPT_PROXY_CAINFO, path), .null(CURLOPT_PROXY_CAPATH),
        ]
    }

    private static func clientOptions(_ identity: ClientIdentity) -> [OptionValue] {
        let secret: String?
        var options: [OptionValue]
        switch identity {
        case .pem(let certificate, let key, let passphrase):
            options = [
                .blob(CURLOPT_SSLCERT_BLOB, certificate), .string(CURLOPT_SSLCERTTYPE, "PEM"),
                .blob(CURLOPT_SSLKEY_BLOB, key), .string(CURLOPT_SSLKEYTYPE, "PEM"),
            ]
            secret = passphrase
        case .files(let certificate, let key, let passphrase):
            options = [
                .string(CURLOPT_SSLCERT, certificate.path(percentEncoded: false)),
                .string(CURLOPT_SSLKEY, key.path(percentEncoded: false)),
            ]
            secret = passphrase
        case .pkcs12(let data, let passphrase):
            options = [.blob(CURLOPT_SSLCERT_BLOB, data), .string(CURLOPT_SSLCERTTYPE, "P12")]
            secret = passphrase
        }
        if let secret { options.append(.string(CURLOPT_KEYPASSWD, secret)) }
        return options
    }
}

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
        let hasCache = verifies && capabilities.quirks.hasCertificateCache
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
