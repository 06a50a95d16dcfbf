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
                throw UsageError("completions: '\(words[1])' is none of \(names)")
            }
            return .completions(shell)
        default:
            return nil
        }
    }
}
