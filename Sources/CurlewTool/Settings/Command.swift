/// The command to carry out.
enum Command: Equatable, Sendable {
    case request(Invocation)
    case cache(CacheCommand)
    case help(topic: String?)
    case man
    case completions(Shell)
    case version
}

/// Turns the words of a command line into a command.
enum CommandBuilder {
    /// Returns the command. `defaults` is called only for requests, because a mistake in the configuration must not
    /// keep `--help` from working.
    static func command(
        for words: [String],
        defaults: () throws(UsageError) -> ParsedArguments = { ParsedArguments() }
    ) throws(UsageError) -> Command {
        // The topic may be an option: `curlew help --follow`.
        if words.first == "help", words.count <= 2 { return .help(topic: words.dropFirst().first) }
        let parsed = try OptionParser.parse(words)
        let given = Set(parsed.options.map(\.option))
        if given.contains(.version) { return .version }
        if given.contains(.help) { return .help(topic: parsed.positionals.first) }
        if let builtIn = try builtIn(parsed) { return builtIn }
        guard !parsed.positionals.isEmpty else {
            throw UsageError("no URL given", hint: "Try 'curlew example.org', or 'curlew --help'.")
        }
        var invocation = Invocation()
        let complete = try OptionParser.parse(words, after: try defaults())
        for option in complete.options { try invocation.apply(option) }
        try invocation.takePositionals(parsed.positionals)
        try invocation.check()
        return .request(invocation)
    }

    /// Returns the command if the first word is `man`, `cache` or `completions`. A host of that name is reached with
    /// `http://`.
    private static func builtIn(_ parsed: ParsedArguments) throws(UsageError) -> Command? {
        let words = parsed.positionals
        switch words.first {
        case "man" where words.count == 1:
            return .man
        case "cache":
            return try CacheCommand(parsed).map { .cache($0) }
        case "completions":
            let names = Shell.allCases.map(\.rawValue).joined(separator: ", ")
            guard words.count == 2 else { throw UsageError("completions: name a shell: \(names)") }
            guard let shell = Shell(rawValue: words[1]) else {
                throw UsageError("completions: '\(words[1])' is not one of \(names)")
            }
            return .completions(shell)
        default:
            return nil
        }
    }
}

/// A command of `curlew cache`.
enum CacheCommand: Equatable, Sendable {
    case list(directory: String, asJSON: Bool)
    /// Clears the whole cache if `url` is `nil`. `quietness` is that of `--quiet`.
    case clear(directory: String, url: String?, quietness: Int)
}

extension CacheCommand {
    private static let usage = "Write 'curlew cache list DIR' or 'curlew cache clear DIR [URL]'."

    /// `nil` if `cache` is a host name, because an item follows it.
    init?(_ parsed: ParsedArguments) throws(UsageError) {
        let words = Array(parsed.positionals.dropFirst())
        let given = Set(parsed.options.map(\.option))
        guard let verb = words.first else {
            throw UsageError("cache: say what to do with which cache", hint: Self.hint)
        }
        switch verb {
        case "list":
            try Self.check(given, allowing: [.json, .quiet], verb)
            self = .list(directory: try Self.directory(words, upTo: 2), asJSON: given.contains(.json))
        case "clear":
            try Self.check(given, allowing: [.quiet], verb)
            self = .clear(
                directory: try Self.directory(words, upTo: 3),
                url: words.count > 2 ? words[2] : nil,
                quietness: parsed.options.count { $0.option == .quiet }
            )
        default:
            if (try? RequestItem(parsing: verb)) != nil { return nil }
            let closest = Suggestion.closest(to: verb, in: ["list", "clear"])
            throw UsageError(
                "cache: '\(verb)' is neither list nor clear", hint: closest.map { "Did you mean '\($0)'?" } ?? Self.hint
            )
        }
    }

    private static let hint = usage + " A server of that name is reached with 'http://cache'."

    private static func directory(_ words: [String], upTo most: Int) throws(UsageError) -> String {
        guard words.count > 1, !words[1].isEmpty else {
            throw UsageError("cache \(words[0]): name the directory", hint: usage)
        }
        guard words.count <= most else {
            throw UsageError("cache \(words[0]): '\(words[most])' is one word too many", hint: usage)
        }
        return words[1]
    }

    /// Refuses options that would have no effect: they were meant for something else.
    private static func check(_ given: Set<Option>, allowing: Set<Option>, _ verb: String) throws(UsageError) {
        guard let other = given.subtracting(allowing).compactMap({ OptionTable.spec($0)?.flag }).min() else { return }
        throw UsageError("cache \(verb): \(other) has no meaning here")
    }
}

/// The shells that completions exist for.
enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }
