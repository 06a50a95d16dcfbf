/// A valid command line: one request, or several downloads.
struct Invocation: Equatable, Sendable {
    /// `nil` means POST if there is a body, and GET otherwise.
    var method: String?
    /// The URLs as typed. Only downloads have more than one.
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
    var ignoresStandardInput = false
    /// Whether every step is logged on standard error.
    var isDebugging = false
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

/// The command to carry out.
enum Command: Equatable, Sendable {
    case request(Invocation)
    case cache(CacheCommand)
    case help(topic: String?)
    case man
    case completions(Shell)
    case version
}

/// A command of `curlew cache`.
enum CacheCommand: Equatable, Sendable {
    case list(directory: String, asJSON: Bool)
    /// Clears the whole cache if `url` is `nil`. `quietness` is that of `--quiet`.
    case clear(directory: String, url: String?, quietness: Int)
}

/// The shells that completions exist for.
enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }
