/// A command line that made sense: one request, or several downloads.
struct Invocation: Equatable, Sendable {
    /// nil: GET, or POST when there is something to send.
    var method: String?
    /// As typed; more than one only for downloads.
    var urls: [String] = []
    var items: [RequestItem] = []
    var body = BodySettings()
    var output = OutputSettings()
    /// nil: the body is printed.
    var download: DownloadSettings?
    var session: SessionSettings?
    var cache = CacheSettings()
    var auth: AuthSettings?
    var network = NetworkSettings()
    var tls = TLSSettings()
    var webSocket = WebSocketSettings()
    var ignoresStandardInput = false
    /// What happens is told on standard error.
    var isDebugging = false
}

/// What the items become.
struct BodySettings: Equatable, Sendable {
    var kind: BodyKind?
    var boundary: String?
    var raw: String?
    var compression: Compression = .off
    var isChunked = false

    enum Compression: Equatable, Sendable {
        case off, ifSmaller, always

        /// Shorter bodies do not become smaller.
        static let worthwhile = 200
    }
}

/// How data items are encoded.
enum BodyKind: Equatable, Sendable { case json, form, multipart }

/// What the tool was asked to do.
enum Command: Equatable, Sendable {
    case request(Invocation)
    case cache(CacheCommand)
    case help(topic: String?)
    case man
    case completions(Shell)
    case version
}

/// What `curlew cache` does.
enum CacheCommand: Equatable, Sendable {
    case list(directory: String, asJSON: Bool)
    /// nil clears the whole cache. `quietness` is that of `--quiet`.
    case clear(directory: String, url: String?, quietness: Int)
}

/// The shells that completions exist for.
enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }
