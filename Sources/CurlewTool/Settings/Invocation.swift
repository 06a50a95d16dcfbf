internal import CurlewCore

/// A valid command line: one request, several downloads, or a repeated run.
struct Invocation: Equatable, Sendable {
    /// `nil` means POST if there is a body, and GET otherwise.
    var method: String?
    /// The URLs as typed. Only downloads and repeated runs have more than one.
    var urls: [String] = []
    var items: [RequestItem] = []
    var body = BodySettings()
    var output = OutputSettings()
    /// `nil` if the body is printed.
    var download: DownloadSettings?
    var session: SessionSettings?
    var cache = CacheSettings()
    var auth: AuthSettings?
    var network = NetworkSettings()
    var tls = TLSSettings()
    var webSocket = WebSocketSettings()
    /// The value of `--repeat`. `nil` if the request is sent once.
    var repetitions: Int?
    /// The value of `--duration`. `nil` if only `--repeat` limits the run.
    var duration: Duration?
    /// The value of `--summary`. `nil` means the default.
    var summary: SummaryFormat?
    /// The value of `--concurrency`. `nil` means the default.
    var concurrency: Int?
    var ignoresStandardInput = false
    /// Whether every step is logged on standard error.
    var isDebugging = false

    /// Whether requests are sent many times, and summarized.
    var repeats: Bool { repetitions != nil || duration != nil }
}

extension Invocation {
    /// Applies one option. If options contradict each other, the last one wins.
    mutating func apply(_ given: GivenOption) throws(UsageError) {
        let value = given.value ?? ""
        let flag = OptionTable.spec(given.option)?.flag ?? given.option.rawValue
        switch given.option {
        case .json: body.kind = .json
        case .form: body.kind = .form
        case .multipart: body.kind = .multipart
        case .boundary: body.boundary = try Self.boundary(value, for: flag)
        case .raw: body.raw = value
        case .compress: body.compression = body.compression == .off ? .ifSmaller : .always
        case .chunked: body.isChunked = true
        case .print, .headers, .body, .meta, .verbose, .all, .pretty, .style, .formatOptions, .sorted, .unsorted,
            .responseCharset, .responseMIME, .stream, .output, .quiet, .offline, .curl, .har, .timing:
            try applyOutput(given.option, value: value, flag: flag)
        case .download, .resume, .checksum, .segments:
            try applyDownload(given.option, value: value, flag: flag)
        case .session: session = SessionSettings(name: value, isReadOnly: false)
        case .sessionReadOnly: session = SessionSettings(name: value, isReadOnly: true)
        case .cache: cache.directory = value
        case .cachePolicy: cache.policy = CachePolicyChoice(rawValue: value) ?? .standard
        case .auth, .authType: applyAuth(given.option, value: value)
        case .follow, .maxRedirects, .timeout, .connectTimeout, .checkStatus, .retry, .limitRate, .rate, .proxy,
            .httpVersion, .resolve, .unixSocket, .ipv4, .ipv6, .https, .defaultScheme, .pathAsIs, .ignoreNetrc:
            try network.apply(given.option, value: value, flag: flag)
        case .verify, .ssl, .ciphers, .cert, .certKey, .certKeyPass, .pin:
            try tls.apply(given.option, value: value, flag: flag)
        case .subprotocol, .binary, .ping, .linger: try webSocket.apply(given.option, value: value, flag: flag)
        case .repetitions: repetitions = try ValueParsing.count(value, for: flag, in: 1...1_000_000_000)
        case .duration:
            guard let time = try ValueParsing.duration(value, for: flag) else {
                throw UsageError("\(flag): 0 is no time for a request")
            }
            duration = time
        case .summary: summary = SummaryFormat(rawValue: value)
        case .concurrency: concurrency = try ValueParsing.count(value, for: flag, in: 1...1000)
        case .ignoreStdin: ignoresStandardInput = true
        case .debug: isDebugging = true
        case .help, .version: break
        }
    }

    private mutating func applyOutput(_ option: Option, value: String, flag: String) throws(UsageError) {
        switch option {
        case .print: output.parts = try OutputPart.parse(value, for: flag)
        case .headers: output.parts = [.responseHead]
        case .body: output.parts = [.responseBody]
        case .meta: output.parts = [.metadata]
        case .verbose:
            output.verbosity += 1
            output.printsHops = true
            output.parts = [.requestHead, .requestBody, .responseHead, .responseBody]
            if output.verbosity > 1 { output.parts?.insert(.metadata) }
        case .all: output.printsHops = true
        case .pretty: output.pretty = Pretty(rawValue: value)
        case .style, .formatOptions, .sorted, .unsorted, .responseCharset, .responseMIME:
            try output.look.apply(option, value: value, flag: flag)
        case .stream: output.isStreaming = true
        case .output:
            output.file = value == "-" ? nil : value
            output.isStandardOutput = value == "-"
        case .quiet: output.quietness += 1
        case .offline: output.mode = .offline
        case .curl: output.mode = .curl
        case .har: output.harFile = value
        case .timing: output.drawsTiming = true
        default: break
        }
    }

    private mutating func applyDownload(_ option: Option, value: String, flag: String) throws(UsageError) {
        var settings = download ?? DownloadSettings()
        switch option {
        case .resume: settings.continues = true
        case .checksum: settings.checksum = try ChecksumSetting(parsing: value, for: flag)
        case .segments: settings.segments = try ValueParsing.count(value, for: flag, in: 1...16)
        default: break
        }
        download = settings
    }

    private mutating func applyAuth(_ option: Option, value: String) {
        if option == .authType {
            let scheme = AuthScheme(rawValue: value) ?? .basic
            // The credentials may have been given before their type.
            let written = auth.map { $0.scheme == .bearer ? $0.secret ?? "" : Self.joined($0) }
            auth = written.map { Self.credentials($0, scheme: scheme) } ?? AuthSettings(scheme: scheme, username: "")
        } else {
            auth = Self.credentials(value, scheme: auth?.scheme ?? .basic)
        }
    }

    static func credentials(_ text: String, scheme: AuthScheme) -> AuthSettings {
        if scheme == .bearer { return AuthSettings(scheme: scheme, username: "", secret: text) }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return AuthSettings(scheme: scheme, username: parts[0], secret: parts.count == 2 ? parts[1] : nil)
    }

    private static func joined(_ auth: AuthSettings) -> String {
        auth.secret.map { "\(auth.username):\($0)" } ?? auth.username
    }

    /// Checks a boundary (RFC 2046, 5.1.1). The characters that would need quotes are not allowed.
    private static func boundary(_ text: String, for flag: String) throws(UsageError) -> String {
        let extra = Set("'+_-.".utf8)
        let isFine = text.utf8.allSatisfy { ASCII.isDigit($0) || ASCII.isAlpha($0) || extra.contains($0) }
        guard isFine, 1...70 ~= text.utf8.count else {
            throw UsageError("\(flag): a boundary is 1 to 70 letters, digits, and ' + _ - .")
        }
        return text
    }
}

/// The settings of the request body.
struct BodySettings: Equatable, Sendable {
    var kind: BodyKind?
    var boundary: String?
    var raw: String?
    var compression: Compression = .off
    var isChunked = false

    enum Compression: Equatable, Sendable {
        case off, ifSmaller, always

        /// Bodies up to this size are assumed not to become smaller.
        static let worthwhile = 200
    }
}

/// The encoding of data items.
enum BodyKind: Equatable, Sendable { case json, form, multipart }

/// The credentials for the server.
struct AuthSettings: Equatable, Sendable {
    var scheme: AuthScheme
    var username: String
    /// `nil` if the user must be asked for it.
    var secret: String?
}

/// The values of `--auth-type`.
enum AuthScheme: String, CaseIterable, Sendable {
    case basic, bearer, digest, ntlm, negotiate, any
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

/// The values of `--cache-policy`.
enum CachePolicyChoice: String, CaseIterable, Sendable {
    case standard = "default"
    case reload
    case revalidate
    case preferCache = "prefer-cache"
    case onlyCache = "only-cache"
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
        let isHex = parts[1].utf8.allSatisfy { ASCII.isDigit($0) || "abcdef".utf8.contains($0) }
        guard isHex, parts[1].utf8.count == algorithm.hexLength else {
            throw UsageError("\(flag): a \(parts[0]) checksum is \(algorithm.hexLength) hexadecimal digits")
        }
        self.algorithm = algorithm
        hex = parts[1]
    }
}
