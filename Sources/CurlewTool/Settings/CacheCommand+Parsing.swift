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
