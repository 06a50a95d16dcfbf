/// The settings of the connection to the server: timeouts, redirects, proxy, addresses.
struct NetworkSettings: Equatable, Sendable {
    /// An outer `nil` means that the option was not given, an inner one that there is no limit.
    var timeout: Duration??
    var connectTimeout: Duration??
    var follows = false
    var maximumRedirects = 30
    var checksStatus = false
    var retries = 0
    /// The value of `--limit-rate`, in bytes per second.
    var rateLimit: Int?
    /// The value of `--rate`.
    var requestRate: RequestRate?
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

extension NetworkSettings {
    mutating func apply(_ option: Option, value: String, flag: String) throws(UsageError) {
        switch option {
        case .follow: follows = true
        case .maxRedirects: maximumRedirects = try ValueParsing.count(value, for: flag, in: 0...1000)
        case .timeout: timeout = .some(try ValueParsing.duration(value, for: flag))
        case .connectTimeout: connectTimeout = .some(try ValueParsing.duration(value, for: flag))
        case .checkStatus: checksStatus = true
        case .retry: retries = try ValueParsing.count(value, for: flag, in: 0...100)
        case .limitRate: rateLimit = try ValueParsing.bytes(value, for: flag)
        case .rate: requestRate = try RequestRate(parsing: value, for: flag)
        case .proxy: proxy = try Self.proxy(value, for: flag)
        case .httpVersion: httpVersion = HTTPVersionChoice(rawValue: value)
        case .resolve: try addOverride(value, for: flag)
        case .unixSocket: unixSocket = value
        case .ipv4: family = .v4
        case .ipv6: family = .v6
        case .https: defaultScheme = "https"
        case .defaultScheme:
            guard ["http", "https", "ws", "wss"].contains(value) else {
                throw UsageError("\(flag): '\(value)' is not one of http, https, ws, wss")
            }
            defaultScheme = value
        case .pathAsIs: keepsPath = true
        case .ignoreNetrc: ignoresNetrc = true
        default: break
        }
    }

    private static func proxy(_ text: String, for flag: String) throws(UsageError) -> ProxySetting {
        if text.isEmpty || text == "none" { return .none }
        var url = text
        // HTTPie's notation is `http:http://host:port`: the scheme of the requests, then the proxy.
        for prefix in ["http:", "https:", "all:"]
        where url.hasPrefix(prefix) && url.dropFirst(prefix.count).contains("://")
            && !url.hasPrefix(prefix + "//")
        {
            url = String(url.dropFirst(prefix.count))
        }
        if !url.contains("://") { url = "http://" + url }
        let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        guard let scheme = url.split(separator: ":").first.map({ $0.lowercased() }), schemes.contains(scheme) else {
            throw UsageError("\(flag): the scheme of '\(text)' is not one of \(schemes.joined(separator: ", "))")
        }
        return .url(url)
    }

    /// Adds `host:port:address[,address]`. IPv6 addresses may have brackets.
    private mutating func addOverride(_ text: String, for flag: String) throws(UsageError) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, !parts[0].isEmpty, !parts[2].isEmpty, let port = Int(parts[1]), 1...65535 ~= port else {
            throw UsageError(
                "\(flag): '\(text)' is not HOST:PORT:ADDRESS", hint: "For instance example.org:443:127.0.0.1")
        }
        let addresses = parts[2].split(separator: ",").map { $0.filter { $0 != "[" && $0 != "]" } }
        overrides["\(parts[0].lowercased()):\(port)", default: []] += addresses
    }
}

/// The values of `--http-version`.
enum HTTPVersionChoice: String, CaseIterable, Sendable {
    case http1_1 = "1.1"
    case http2 = "2"
    case http2PriorKnowledge = "2-prior-knowledge"
    case http3 = "3"
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

extension TLSSettings {
    mutating func apply(_ option: Option, value: String, flag: String) throws(UsageError) {
        switch option {
        case .verify:
            switch value.lowercased() {
            case "yes", "true", "1": verification = .system
            case "no", "false", "0": verification = .none
            default: verification = .path(value)
            }
        case .ssl: version = TLSVersionChoice(rawValue: value)
        case .ciphers: ciphers = value
        case .cert: certificate = value
        case .certKey: key = value
        case .certKeyPass: passphrase = value
        case .pin: pins += try Self.pins(value, for: flag)
        default: break
        }
    }

    private static func pins(_ text: String, for flag: String) throws(UsageError) -> [String] {
        let pins = text.split(separator: ";").map(String.init)
        // 32 bytes are 43 digits of base64 and one '='.
        let areFine = pins.allSatisfy { $0.hasPrefix("sha256//") && $0.utf8.count == 8 + 44 && $0.hasSuffix("=") }
        guard areFine, !pins.isEmpty else {
            throw UsageError(
                "\(flag): '\(text)' is not sha256//BASE64", hint: "BASE64 is the SHA-256 of the public key.")
        }
        return pins
    }
}

/// The values of `--ssl`, with HTTPie's names.
enum TLSVersionChoice: String, CaseIterable, Sendable {
    case v1_0 = "tls1"
    case v1_1 = "tls1.1"
    case v1_2 = "tls1.2"
    case v1_3 = "tls1.3"
}
