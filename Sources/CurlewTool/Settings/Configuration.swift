internal import Foundation

/// The content of `config.json`: options that precede those of every command line.
struct Configuration: Equatable, Sendable {
    var defaults = ParsedArguments()

    /// Returns the configuration folder: `$CURLEW_CONFIG_DIR`, or `curlew` in `$XDG_CONFIG_HOME` or `~/.config`. `nil`
    /// if no variable names one.
    static func folder(_ environment: [String: String]) -> String? {
        if let own = environment["CURLEW_CONFIG_DIR"], !own.isEmpty { return own }
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return base + "/curlew" }
        if let home = environment["HOME"], !home.isEmpty { return home + "/.config/curlew" }
        return nil
    }

    static func file(_ environment: [String: String]) -> String? { folder(environment).map { $0 + "/config.json" } }

    init() {}

    /// Parses the file. Errors name its path.
    init(parsing bytes: [UInt8], path: String) throws(UsageError) {
        let json: JSONValue
        do {
            json = try JSONParser.parse(bytes)
        } catch {
            throw UsageError("\(path): not JSON: \(error.message) (at byte \(error.offset + 1))")
        }
        guard case .object(let object) = json else {
            throw UsageError("\(path) is not a JSON object", hint: Self.example)
        }
        let known = ["default_options", "__meta__"]
        for key in object.keys where !known.contains(key) {
            let closest = Suggestion.closest(to: key, in: known)
            throw UsageError(
                "\(path): there is no setting '\(key)'", hint: closest.map { "Did you mean '\($0)'?" } ?? Self.example)
        }
        guard let list = object["default_options"] else { return }
        let words = list.elements?.compactMap(\.text) ?? []
        guard words.count == list.elements?.count else {
            throw UsageError("\(path): default_options is not a list of texts", hint: Self.example)
        }
        do {
            defaults = try Self.options(words)
        } catch {
            throw UsageError("\(path): default_options: \(error.message)", hint: error.hint)
        }
    }

    private static let example = "For instance {\"default_options\": [\"--style=dark\", \"--timeout=10\"]}."

    private static func options(_ words: [String]) throws(UsageError) -> ParsedArguments {
        let parsed = try OptionParser.parse(words)
        if let word = parsed.positionals.first {
            throw UsageError("'\(word)' is not an option", hint: "Write the value after '=': \"--style=dark\".")
        }
        // Values are checked here, because only here can the message name the file.
        var trial = Invocation()
        for option in parsed.options {
            if option.option == .help || option.option == .version {
                throw UsageError("--\(option.option.rawValue) would be all that curlew does")
            }
            try trial.apply(option)
        }
        return parsed
    }
}

/// The default options: those of `config.json`, and `--https` if the command is called `curlews`.
struct DefaultOptions: Sendable {
    /// The path with which the command was called.
    let program: String
    let environment: [String: String]

    /// The configuration file. `nil` if it does not exist.
    var file: String? {
        guard let path = Configuration.file(environment), InputFile.exists(path) else { return nil }
        return path
    }

    func load() throws(UsageError) -> ParsedArguments {
        var defaults = ParsedArguments()
        if let file { defaults = try Configuration(parsing: InputFile.read(file), path: file).defaults }
        if program.split(separator: "/").last == "curlews" { defaults.options.append(GivenOption(option: .https)) }
        return defaults
    }
}
