/// An option as written on the command line or in the configuration.
struct GivenOption: Equatable, Sendable {
    let option: Option
    /// `nil` if the option is a switch.
    var value: String?
}

/// A command line split into options and positionals, before either is interpreted.
struct ParsedArguments: Equatable, Sendable {
    var options: [GivenOption] = []
    var positionals: [String] = []
}

/// Parses words into options and positionals according to `OptionTable`.
///
/// Long options take `--name value` or `--name=value`. Short ones may be bundled (`-vF`), with a value attached
/// (`-pHB`) or as the next word. `--no-name` removes every earlier `--name`, including those of the defaults. Words
/// after `--` are never options.
enum OptionParser {
    /// Parses the words. `defaults` apply as if they had been written before the words.
    static func parse(
        _ words: [String],
        after defaults: ParsedArguments = ParsedArguments()
    ) throws(UsageError) -> ParsedArguments {
        var result = defaults
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                result.positionals += rest
                break
            } else if word.hasPrefix("--") {
                try parseLong(word.dropFirst(2), rest: &rest, into: &result)
            } else if word.hasPrefix("-"), word.count > 1 {
                try parseShort(word.dropFirst(), rest: &rest, into: &result)
            } else {
                result.positionals.append(word)
            }
        }
        return result
    }

    private static func parseLong(
        _ text: Substring,
        rest: inout ArraySlice<String>,
        into result: inout ParsedArguments
    ) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let attached = parts.count == 2 ? String(parts[1]) : nil
        if let spec = OptionTable.spec(long: name) {
            result.options.append(try given(spec, written: "--" + name, attached: attached, rest: &rest))
        } else if name.hasPrefix("no-"), let spec = OptionTable.spec(long: String(name.dropFirst(3))) {
            guard attached == nil else { throw UsageError("--\(name) takes no value") }
            result.options.removeAll { $0.option == spec.option }
        } else {
            throw unknown(name, next: attached ?? rest.first)
        }
    }

    private static func parseShort(
        _ letters: Substring,
        rest: inout ArraySlice<String>,
        into result: inout ParsedArguments
    ) throws(UsageError) {
        var letters = letters
        while let letter = letters.popFirst() {
            guard let spec = OptionTable.spec(short: letter) else {
                throw UsageError(
                    "unknown option -\(letter)",
                    hint: CurlHabits.hint(for: "-\(letter)", next: letters.isEmpty ? rest.first : String(letters))
                        ?? "For a word that begins with '-' write '--' before it."
                )
            }
            guard spec.value != nil else {
                result.options.append(GivenOption(option: spec.option))
                continue
            }
            var attached = letters.isEmpty ? nil : String(letters)
            if let text = attached, text.hasPrefix("=") { attached = String(text.dropFirst()) }
            letters = ""
            result.options.append(try given(spec, written: "-\(letter)", attached: attached, rest: &rest))
        }
    }

    private static func given(
        _ spec: OptionSpec,
        written: String,
        attached: String?,
        rest: inout ArraySlice<String>
    ) throws(UsageError) -> GivenOption {
        guard let expected = spec.value else {
            guard attached == nil else { throw UsageError("\(written) takes no value") }
            return GivenOption(option: spec.option)
        }
        guard let value = attached ?? rest.popFirst() else {
            throw UsageError("\(written) needs a value: \(expected.placeholder)")
        }
        if case .choice(let words) = expected.kind, !words.contains(value) {
            throw UsageError(
                "\(written): '\(value)' is none of \(words.joined(separator: ", "))",
                hint: Suggestion.closest(to: value, in: words).map { "Did you mean '\($0)'?" }
                    ?? CurlHabits.otherwise[written]
            )
        }
        return GivenOption(option: spec.option, value: value)
    }

    private static func unknown(_ name: String, next: String?) -> UsageError {
        if let hint = CurlHabits.hint(for: "--\(name)", next: next) {
            return UsageError("unknown option --\(name)", hint: hint)
        }
        let names = OptionTable.all.flatMap(\.names)
        let negated = name.hasPrefix("no-")
        let closest = Suggestion.closest(to: negated ? String(name.dropFirst(3)) : name, in: names)
        return UsageError(
            "unknown option --\(name)",
            hint: closest.map { "Did you mean '--\(negated ? "no-" : "")\($0)'?" }
                ?? "'curlew --help' lists the options."
        )
    }
}
