import Testing

@testable import CurlewTool

@Suite("Parsing of options and positional arguments")
struct OptionParserTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let words: [String]
        let options: [GivenOption]
        let positionals: [String]

        var testDescription: String { words.joined(separator: " ") }
    }

    static let rows: [Row] = [
        Row(words: [], options: [], positionals: []),
        Row(words: ["example.org"], options: [], positionals: ["example.org"]),
        Row(words: ["--follow", "x"], options: [.init(option: .follow)], positionals: ["x"]),
        Row(words: ["x", "--follow"], options: [.init(option: .follow)], positionals: ["x"]),
        Row(words: ["--timeout", "5"], options: [.init(option: .timeout, value: "5")], positionals: []),
        Row(words: ["--timeout=5"], options: [.init(option: .timeout, value: "5")], positionals: []),
        Row(words: ["--raw=a=b"], options: [.init(option: .raw, value: "a=b")], positionals: []),
        Row(words: ["--raw="], options: [.init(option: .raw, value: "")], positionals: []),
        Row(words: ["--raw", "--json"], options: [.init(option: .raw, value: "--json")], positionals: []),
        Row(words: ["-vF"], options: [.init(option: .verbose), .init(option: .follow)], positionals: []),
        Row(words: ["-pHB"], options: [.init(option: .print, value: "HB")], positionals: []),
        Row(words: ["-p", "HB"], options: [.init(option: .print, value: "HB")], positionals: []),
        Row(words: ["-p=HB"], options: [.init(option: .print, value: "HB")], positionals: []),
        Row(
            words: ["-Fo", "file", "x"], options: [.init(option: .follow), .init(option: .output, value: "file")],
            positionals: ["x"]),
        Row(words: ["-4"], options: [.init(option: .ipv4)], positionals: []),
        Row(words: ["--", "-x", "--follow"], options: [], positionals: ["-x", "--follow"]),
        Row(words: ["-"], options: [], positionals: ["-"]),
        Row(words: ["--follow", "--no-follow"], options: [], positionals: []),
        Row(
            words: ["--timeout=1", "--no-timeout", "--timeout=2"], options: [.init(option: .timeout, value: "2")],
            positionals: []),
        Row(words: ["--auth", "a:b"], options: [.init(option: .auth, value: "a:b")], positionals: []),
        Row(words: ["--pretty", "none"], options: [.init(option: .pretty, value: "none")], positionals: []),
    ]

    @Test(arguments: rows)
    func argumentsAreParsed(_ row: Row) throws {
        let parsed = try OptionParser.parse(row.words)
        #expect(parsed.options == row.options)
        #expect(parsed.positionals == row.positionals)
    }

    static let failures: [(words: [String], message: String, hint: String?)] = [
        (["--folow"], "unknown option --folow", "Did you mean '--follow'?"),
        (["--no-folow"], "unknown option --no-folow", "Did you mean '--no-follow'?"),
        (["--check-st"], "unknown option --check-st", "Did you mean '--check-status'?"),
        (["--zzzzzzzzz"], "unknown option --zzzzzzzzz", "'curlew --help' lists the options."),
        (["-W"], "unknown option -W", "For a word that begins with '-' write '--' before it."),
        (["--follow=1"], "--follow takes no value", nil),
        (["--no-follow=1"], "--no-follow takes no value", nil),
        (["--timeout"], "--timeout needs a value: TIME", nil),
        (["-vo"], "-o needs a value: FILE", nil),
        (
            ["--pretty", "colour"], "--pretty: 'colour' is not one of all, colors, format, none",
            "Did you mean 'colors'?"
        ),
    ]

    @Test(arguments: failures.indices)
    func usageErrorExplainsTheMistake(_ index: Int) {
        let row = Self.failures[index]
        #expect(throws: UsageError(row.message, hint: row.hint)) { try OptionParser.parse(row.words) }
    }

    @Test("the table has every option once, and no name or letter twice")
    func tableIsComplete() {
        #expect(Set(OptionTable.all.map(\.option)) == Set(Option.allCases))
        #expect(OptionTable.all.count == Option.allCases.count)
        let names = OptionTable.all.flatMap(\.names)
        #expect(Set(names).count == names.count)
        let letters = OptionTable.all.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        #expect(names.allSatisfy { !$0.hasPrefix("no-") })
    }

    @Test("the help of every option is a sentence", arguments: OptionTable.all.map(\.help))
    func helpIsASentence(_ help: String) {
        // A sentence may begin with a value in quotes.
        #expect(help.first?.isUppercase == true || help.hasPrefix("'"))
        #expect(help.hasSuffix("."))
    }
}

@Suite("Suggestions")
struct SuggestionTests {
    @Test(
        arguments: [
            ("folow", "follow"), ("FOLLOW", "follow"), ("fololw", "follow"), ("verfy", "verify"),
            ("check", "check-status"),
            ("timout", "timeout"), ("jsno", "json"), ("colors", nil), ("x", nil), ("", nil), ("qqqq", nil),
        ] as [(String, String?)])
    func similarOptionIsSuggested(_ word: String, _ expected: String?) {
        let names = ["follow", "verify", "check-status", "timeout", "json", "form"]
        #expect(Suggestion.closest(to: word, in: names) == expected)
    }

    @Test(arguments: [
        ("", "", 0), ("a", "", 1), ("", "ab", 2), ("ab", "ba", 1), ("abc", "abd", 1), ("kitten", "sitting", 3),
    ])
    func countsEdits(_ left: String, _ right: String, _ expected: Int) {
        #expect(Suggestion.distance(Array(left.utf8), Array(right.utf8)) == expected)
    }
}

@Suite("Values of options")
struct ValueParsingTests {
    @Test(
        arguments: [
            ("5", .seconds(5)), ("2.5", .milliseconds(2500)), ("500ms", .milliseconds(500)), ("2m", .seconds(120)),
            ("1h", .seconds(3600)), ("3s", .seconds(3)), ("0", nil), ("0s", nil), ("0.0001", .milliseconds(1)),
        ] as [(String, Duration?)])
    func readsTimes(_ text: String, _ expected: Duration?) throws {
        #expect(try ValueParsing.duration(text, for: "--timeout") == expected)
    }

    @Test(arguments: ["", "x", "-1", "1e3", "inf", "nan", "5x", "ms", "1.2.3", "99999999999", " 5"])
    func invalidTimeIsRefused(_ text: String) {
        #expect(throws: UsageError.self) { try ValueParsing.duration(text, for: "--timeout") }
    }

    @Test(arguments: [
        ("4096", 4096), ("100k", 102_400), ("100K", 102_400), ("1.5M", 1_572_864), ("2MiB", 2_097_152),
        ("1MB", 1_048_576),
        ("1g", 1_073_741_824), ("10k/s", 10_240),
    ])
    func readsRates(_ text: String, _ expected: Int) throws {
        #expect(try ValueParsing.bytes(text, for: "--limit-rate") == expected)
    }

    @Test(arguments: ["", "k", "0", "-5", "1x", "0.0001", "9999999999T", "1e5"])
    func invalidRateIsRefused(_ text: String) {
        #expect(throws: UsageError.self) { try ValueParsing.bytes(text, for: "--limit-rate") }
    }
}
