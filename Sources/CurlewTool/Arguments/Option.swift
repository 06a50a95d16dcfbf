/// Every option of the command. A test checks that each case has exactly one `OptionSpec`.
enum Option: String, CaseIterable, Sendable {
    case json, form, multipart, boundary, raw, compress, chunked
    case print, headers, body, meta, verbose, all, pretty, style, formatOptions, sorted, unsorted, responseCharset,
        responseMIME, stream, output, quiet
    case offline, curl, har, timing
    case download, resume, checksum, segments
    case session, sessionReadOnly, auth, authType, ignoreNetrc
    case cache, cachePolicy
    case follow, maxRedirects, timeout, connectTimeout, checkStatus, retry, limitRate, rate, proxy
    case httpVersion, resolve, unixSocket, ipv4, ipv6, https, defaultScheme, pathAsIs
    case verify, ssl, ciphers, cert, certKey, certKeyPass, pin
    case subprotocol, binary, ping, linger
    case repetitions, duration, concurrency, summary
    case ignoreStdin, debug, help, version
}

/// The description of one option. The parser, `--help`, the man page and the completions are all derived from it, so
/// they cannot disagree.
struct OptionSpec: Sendable {
    let option: Option
    /// Long names without dashes. Texts use the first one.
    let names: [String]
    let short: Character?
    /// `nil` if the option is a switch.
    let value: ValueSpec?
    let group: OptionGroup
    /// One or two sentences of plain text.
    let help: String
    /// A command line that uses the option.
    let example: String?

    var name: String { names[0] }

    /// The option as messages write it: `--output`.
    var flag: String { "--" + names[0] }

    init(
        _ option: Option,
        _ names: String...,
        short: Character? = nil,
        value: ValueSpec? = nil,
        group: OptionGroup,
        help: String,
        example: String? = nil
    ) {
        self.option = option
        self.names = names
        self.short = short
        self.value = value
        self.group = group
        self.help = help
        self.example = example
    }
}

/// The kind of value that an option takes, for the parser, texts and completions.
struct ValueSpec: Sendable {
    enum Kind: Sendable, Equatable {
        case text
        /// A path. Completions offer files.
        case file
        /// The name of a stored session. Completions offer the existing ones.
        case session
        /// One of these words. The parser refuses any other.
        case choice([String])
        /// Any text. Completions offer these words.
        case suggestion([String])
    }

    /// The placeholder in texts, for example `FILE`.
    let placeholder: String
    let kind: Kind

    static func text(_ placeholder: String) -> ValueSpec { ValueSpec(placeholder: placeholder, kind: .text) }
    static func file(_ placeholder: String = "FILE") -> ValueSpec { ValueSpec(placeholder: placeholder, kind: .file) }

    static let session = ValueSpec(placeholder: "NAME", kind: .session)

    static func choice(_ placeholder: String, _ words: [String]) -> ValueSpec {
        ValueSpec(placeholder: placeholder, kind: .choice(words))
    }

    static func suggestion(_ placeholder: String, _ words: [String]) -> ValueSpec {
        ValueSpec(placeholder: placeholder, kind: .suggestion(words))
    }

    /// The words that completions offer.
    var words: [String] {
        switch kind {
        case .text, .file, .session: []
        case .choice(let words), .suggestion(let words): words
        }
    }
}

/// The headings under which `--help` and the man page list options.
enum OptionGroup: String, CaseIterable, Sendable {
    case body = "Request body"
    case output = "Output"
    case download = "Downloads"
    case session = "Sessions and authentication"
    case cache = "Cache"
    case network = "Network"
    case tls = "TLS"
    case webSocket = "WebSockets"
    case repetition = "Repeated requests"
    case general = "General"
}
