/// The settings of the connection to the server: timeouts, redirects, proxy, addresses.
struct NetworkSettings: Equatable, Sendable {
    /// An outer `nil` means that the option was not given, an inner one that there is no limit.
    var timeout: Duration??
    var connectTimeout: Duration??
    var follows = false
    var maximumRedirects = 30
    var checksStatus = false
    var retries = 0
    var rateLimit: Int?
    var proxy: ProxySetting?
    var httpVersion: HTTPVersionChoice?
    /// The addresses of each `host:port`.
    var overrides: [String: [String]] = [:]
    var unixSocket: String?
    var family: AddressFamily?
    var defaultScheme = "http"
    var keepsPath = false
    var ignoresNetrc = false

    enum ProxySetting: Equatable, Sendable {
        case none
        case url(String)
    }

    enum AddressFamily: Equatable, Sendable { case v4, v6 }
}

/// The settings of TLS.
struct TLSSettings: Equatable, Sendable {
    var verification: Verification = .system
    var version: TLSVersionChoice?
    var ciphers: String?
    var certificate: String?
    var key: String?
    var passphrase: String?
    var pins: [String] = []

    enum Verification: Equatable, Sendable {
        case system, none
        case path(String)
    }
}

/// The credentials for the server.
struct AuthSettings: Equatable, Sendable {
    var scheme: AuthScheme
    var username: String
    /// `nil` if the user must be asked for it.
    var secret: String?
}

/// The session file to use.
struct SessionSettings: Equatable, Sendable {
    let name: String
    let isReadOnly: Bool
}

/// The settings of `--cache` and `--cache-policy`.
struct CacheSettings: Equatable, Sendable {
    /// `nil` if there is no cache.
    var directory: String?
    var policy = CachePolicyChoice.standard
}

/// The settings of `--download`.
struct DownloadSettings: Equatable, Sendable {
    var continues = false
    var checksum: ChecksumSetting?
    var segments = 1
}

/// The value of `--checksum`: `sha256:…`.
struct ChecksumSetting: Equatable, Sendable {
    enum Algorithm: String, CaseIterable, Sendable {
        case md5, sha1, sha256, sha384, sha512

        var hexLength: Int {
            switch self {
            case .md5: 32
            case .sha1: 40
            case .sha256: 64
            case .sha384: 96
            case .sha512: 128
            }
        }
    }

    let algorithm: Algorithm
    /// The digits in lower case.
    let hex: String

    init(parsing text: String, for flag: String) throws(UsageError) {
        let parts = text.split(separator: ":", maxSplits: 1).map { $0.lowercased() }
        guard parts.count == 2, let algorithm = Algorithm(rawValue: parts[0]) else {
            let names = Algorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(flag): '\(text)' is not ALGORITHM:HEX", hint: "The algorithm is one of \(names).")
        }
        let isHex = parts[1].utf8.allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }
        guard isHex, parts[1].utf8.count == algorithm.hexLength else {
            throw UsageError("\(flag): a \(parts[0]) checksum is \(algorithm.hexLength) hexadecimal digits")
        }
        self.algorithm = algorithm
        hex = parts[1]
    }
}
