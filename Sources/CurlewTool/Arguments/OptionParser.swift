internal import CurlewCore

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
                "\(written): '\(value)' is not one of \(words.joined(separator: ", "))",
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

/// Parses option values: times, byte counts and numbers.
enum ValueParsing {
    /// Parses a time: `5`, `2.5`, `500ms`, `2m`, `1h`. Returns `nil` for 0, which most options read as no limit.
    static func duration(_ text: String, for flag: String) throws(UsageError) -> Duration? {
        let units: [(suffix: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600)]
        let unit = units.first { text.hasSuffix($0.suffix) }
        let number = unit.map { String(text.dropLast($0.suffix.count)) } ?? text
        guard let amount = plainNumber(number) else {
            throw UsageError("\(flag): '\(text)' is not a time", hint: "Write seconds, or for instance 500ms or 2m.")
        }
        let seconds = amount * (unit?.seconds ?? 1)
        guard seconds < 1e9 else { throw UsageError("\(flag): '\(text)' is too long") }
        return seconds == 0 ? nil : .milliseconds(max(1, Int64((seconds * 1000).rounded())))
    }

    /// Parses a number of bytes: `4096`, `100k`, `1.5M`, `2MiB`. Units are powers of 1024, as in curl.
    static func bytes(_ text: String, for flag: String) throws(UsageError) -> Int {
        var number = text.lowercased()
        for ending in ["/s", "ib", "b"] where number.hasSuffix(ending) { number.removeLast(ending.count) }
        var factor = 1.0
        if let last = number.last, let power = ["k", "m", "g", "t"].firstIndex(of: last) {
            for _ in 0...power { factor *= 1024 }
            number.removeLast()
        }
        guard let amount = plainNumber(number), amount * factor >= 1, amount * factor < 1e18 else {
            throw UsageError(
                "\(flag): '\(text)' is not a number of bytes", hint: "Write for instance 4096, 100k or 1.5M.")
        }
        return Int(amount * factor)
    }

    static func count(_ text: String, for flag: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let value = Int(text), range.contains(value) else {
            throw UsageError("\(flag): '\(text)' is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Parses digits with at most one point. Refuses signs, exponents and `inf`, which `Double` would accept.
    private static func plainNumber(_ text: String) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }) else { return nil }
        return Double(text)
    }
}
