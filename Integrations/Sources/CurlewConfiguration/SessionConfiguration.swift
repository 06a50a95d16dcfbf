public import Configuration
public import Curlew
internal import Foundation

extension SessionConfiguration {
    /// Creates a configuration from the values of a reader of swift-configuration. Keys that are absent leave the value of
    /// `base`.
    ///
    ///     let reader = ConfigReader(provider: EnvironmentVariablesProvider())
    ///     let configuration = try SessionConfiguration(reader: reader.scoped(to: "backend"))
    ///     // BACKEND_TIMEOUTS_TOTAL_SECONDS=10 BACKEND_MAXIMUM_CONNECTIONS=64 …
    ///
    /// | key | value |
    /// |---|---|
    /// | `baseURL` | the URL that relative URLs are resolved against |
    /// | `timeouts.connectSeconds`, `.firstByteSeconds`, `.idleSeconds`, `.totalSeconds`, `.queueSeconds` | seconds, or `none` |
    /// | `maximumConnections`, `maximumConnectionsPerHost` | the number of connections |
    /// | `connectionIdleLifetimeSeconds` | how long an idle connection is kept |
    /// | `maximumConnectionAgeSeconds` | the age after which a connection is replaced |
    /// | `maximumBodySize`, `maximumHeaderSize` | the largest response in memory and its largest head, in bytes |
    /// | `httpVersion` | `automatic`, `http1.1`, `http2`, `http2PriorKnowledge` or `http3` |
    /// | `redirects.limit` | the number of redirects that are followed |
    /// | `proxy.mode` | `environment`, `none` or `url` |
    /// | `proxy.url`, `proxy.username`, `proxy.password` | the proxy, for the mode `url`, which is the default with `proxy.url` |
    /// | `proxy.exclusions` | hosts that are reached directly, separated by commas; with `proxy.url` only |
    /// | `tls.trustRootsFile`, `tls.trustRootsDirectory` | PEM certificates to trust instead of the system's |
    /// | `tls.certificateFile`, `tls.keyFile`, `tls.keyPassphrase` | the client's identity, PEM files |
    /// | `tls.minimumVersion` | `1.2` or `1.3` |
    /// | `addressPolicy` | `any` or `publicOnly` |
    /// | `userAgent` | the field `User-Agent` |
    ///
    /// The passwords, the passphrase and the proxy's URL are read as secrets. Paths are absolute; the files are read when a
    /// connection is made. Certificates are always verified: there is no key to turn that off.
    ///
    /// - Throws: ``ConfigurationValueError`` with the key of a value that has the wrong type, is out of range, or has no
    ///   effect because of another.
    public init(
        reader: ConfigReader, base: SessionConfiguration = .default
    ) throws(ConfigurationValueError) {
        self = base
        let reader = TypedReader(reader: reader)
        if let url = try reader.url("baseURL", schemes: ["http", "https"]) { baseURL = url }
        try timeouts.read(reader)
        try readLimits(reader)
        try readProxy(reader)
        try tls.read(reader)
        if let version = try reader.choice("httpVersion", Self.versions) { httpVersion = version }
        if let limit = try reader.count("redirects.limit", atLeast: 0) { redirects.limit = limit }
        if let policy = try reader.choice("addressPolicy", Self.addressPolicies) { addressPolicy = policy }
        if let agent = try reader.string("userAgent") { headers.add(.userAgent(agent)) }
    }

    private static var versions: KeyValuePairs<String, HTTPVersionPolicy> {
        [
            "automatic": .automatic, "http1.1": .http1_1, "http2": .http2, "http2PriorKnowledge": .http2PriorKnowledge,
            "http3": .http3,
        ]
    }

    private static var addressPolicies: KeyValuePairs<String, AddressPolicy> {
        ["any": .any, "publicOnly": .publicOnly]
    }

    private mutating func readLimits(_ reader: TypedReader) throws(ConfigurationValueError) {
        if let count = try reader.count("maximumConnections") { maximumConnections = count }
        if let count = try reader.count("maximumConnectionsPerHost") { maximumConnectionsPerHost = count }
        if let count = try reader.count("maximumBodySize") { maximumBodySize = count }
        if let count = try reader.count("maximumHeaderSize") { maximumHeaderSize = count }
        if let lifetime = try reader.seconds("connectionIdleLifetimeSeconds") { connectionIdleLifetime = lifetime }
        if let age = try reader.seconds("maximumConnectionAgeSeconds") { maximumConnectionAge = age }
    }

    private enum ProxyMode { case environment, direct, url }

    private mutating func readProxy(_ reader: TypedReader) throws(ConfigurationValueError) {
        let schemes: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        let url = try reader.url("proxy.url", schemes: schemes, isSecret: true)
        let modes: KeyValuePairs<String, ProxyMode> = ["environment": .environment, "none": .direct, "url": .url]
        let (username, password) = (
            try reader.string("proxy.username", isSecret: true), try reader.string("proxy.password", isSecret: true)
        )
        let exclusions = try reader.list("proxy.exclusions")
        let mode = try reader.choice("proxy.mode", modes) ?? (url == nil ? nil : .url)
        if mode != .url {
            // They would have no effect: the requests would not go where the configuration says.
            let idle = [
                ("proxy.url", url != nil), ("proxy.username", username != nil), ("proxy.password", password != nil),
                ("proxy.exclusions", exclusions != nil),
            ]
            if let (key, _) = idle.first(where: \.1) {
                let expected = mode == nil ? "absent if there is no proxy.url" : "absent with this proxy.mode"
                throw ConfigurationValueError(key: key, expected: expected)
            }
        }
        switch mode {
        case nil: return
        case .environment: proxy = .environment
        case .direct: proxy = .none
        case .url:
            guard let url else {
                throw ConfigurationValueError(key: "proxy.url", expected: "set if proxy.mode is 'url'")
            }
            proxy = .url(url, username: username, password: password, exclusions: exclusions ?? [])
        }
    }
}

extension Timeouts {
    fileprivate mutating func read(_ reader: TypedReader) throws(ConfigurationValueError) {
        if let limit = try reader.limit("timeouts.connectSeconds") { connect = limit }
        if let limit = try reader.limit("timeouts.firstByteSeconds") { firstByte = limit }
        if let limit = try reader.limit("timeouts.idleSeconds") { idle = limit }
        if let limit = try reader.limit("timeouts.totalSeconds") { total = limit }
        if let limit = try reader.limit("timeouts.queueSeconds") { queue = limit }
    }
}

extension TLSConfiguration {
    fileprivate mutating func read(_ reader: TypedReader) throws(ConfigurationValueError) {
        let (roots, directory) = (try reader.file("tls.trustRootsFile"), try reader.file("tls.trustRootsDirectory"))
        guard roots == nil || directory == nil else {
            throw ConfigurationValueError(
                key: "tls.trustRootsDirectory", expected: "absent if there is a tls.trustRootsFile")
        }
        if let roots { trustRoots = .file(roots) }
        if let directory { trustRoots = .directory(directory) }
        let versions: KeyValuePairs<String, TLSVersion> = ["1.2": .v1_2, "1.3": .v1_3]
        if let version = try reader.choice("tls.minimumVersion", versions) { minimumVersion = version }
        let (certificate, key) = (try reader.file("tls.certificateFile"), try reader.file("tls.keyFile"))
        let passphrase = try reader.string("tls.keyPassphrase", isSecret: true)
        switch (certificate, key) {
        case (nil, nil):
            if passphrase != nil {
                throw ConfigurationValueError(key: "tls.keyFile", expected: "set if there is a tls.keyPassphrase")
            }
        case (let certificate?, let key?):
            clientIdentity = .files(certificate: certificate, key: key, passphrase: passphrase)
        case (nil, _?):
            throw ConfigurationValueError(key: "tls.certificateFile", expected: "set if there is a tls.keyFile")
        case (_?, nil):
            throw ConfigurationValueError(key: "tls.keyFile", expected: "set if there is a tls.certificateFile")
        }
    }
}
