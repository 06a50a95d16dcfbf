/// Everything the tool knows about one option. Parsing, `--help`, the man page and the completions
/// all read this, so they cannot disagree.
struct OptionSpec: Sendable {
    let option: Option
    /// Without dashes; the first is the name that texts use.
    let names: [String]
    let short: Character?
    /// nil for a switch.
    let value: ValueSpec?
    let group: OptionGroup
    /// One or two sentences, plain text.
    let help: String
    /// A command line that uses it.
    let example: String?

    var name: String { names[0] }

    /// `--output`, as messages write it.
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

/// What an option's value is, for texts and completions.
struct ValueSpec: Sendable {
    enum Kind: Sendable, Equatable {
        case text
        /// A path: completions offer files.
        case file
        /// The name of a stored session: completions offer those that there are.
        case session
        /// One of these words, and nothing else.
        case choice([String])
        /// Anything, these words being usual.
        case suggestion([String])
    }

    /// The placeholder in texts: `FILE`.
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
    case general = "General"
}
