import Testing

@testable import CurlewTool

@Suite("JSON in memory")
struct JSONTests {
    @Test(
        arguments: [
            ("null", "null"), (" true ", "true"), ("1.10", "1.10"), ("-0.5e+10", "-0.5e+10"),
            ("12345678901234567890", nil),
            (#"{"b":1,"a":[1,{}],"b":2}"#, #"{"b": 2, "a": [1, {}]}"#), (#""\u00e9\n\u0001""#, "\"é\\n\\u0001\""),
            (#""\ud83d\ude00""#, "\"😀\""), (#""\ud83d""#, "\"\u{FFFD}\""), (#""\ud83dx""#, "\"\u{FFFD}x\""),
            (#""\/\"\\""#, #""/\"\\""#), ("[ ]", "[]"), ("{ }", "{}"),
        ] as [(String, String?)])
    func jsonIsReadAndWritten(_ text: String, _ expected: String?) throws {
        #expect(JSONWriter.compact(try JSONParser.parse(text)) == expected ?? text)
    }

    @Test(arguments: [
        ("", 0), ("nope", 0), ("{", 1), ("{a}", 1), ("[1,]", 3), ("[1", 2), ("01", 1), ("1.", 2), ("-", 1), ("\"a", 2),
        ("\"\\x\"", 2), ("\"\\u12g4\"", 3), ("\"\u{1}\"", 1), ("1 2", 2), ("{\"a\" 1}", 5), ("+1", 0), ("tru", 0),
    ])
    func invalidJSONIsRefused(_ text: String, _ offset: Int) {
        let failure = #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(text) }
        #expect(failure?.offset == offset)
    }

    @Test func refusesEndlessNesting() {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(String(repeating: "[", count: 100_000)) }
    }

    @Test func jsonIsIndented() throws {
        let value = try JSONParser.parse(#"{"a":[1,2],"b":{},"c":[]}"#)
        #expect(
            JSONWriter.indented(value) == """
                {
                    "a": [
                        1,
                        2
                    ],
                    "b": {},
                    "c": []
                }

                """)
    }
}

@Suite("JSON formatted while it arrives")
struct PrettyJSONTests {
    static func pretty(_ pieces: [[UInt8]], colored: Bool = false, formatted: Bool = true) -> String {
        var printer = PrettyJSON(palette: Palette(isColored: colored), indent: 2, isFormatted: formatted)
        var out: [UInt8] = []
        for piece in pieces { printer.feed(piece, into: &out) }
        printer.finish(into: &out)
        return String(decoding: out, as: UTF8.self)
    }

    static let rows: [(input: String, output: String)] = [
        ("{}", "{}"), ("[]", "[]"), ("[[],{}]", "[\n  [],\n  {}\n]"), ("1.10", "1.10"), ("\"a\"", "\"a\""),
        (
            #"{"b":1.10,"a":[true,null,"x\"y"]}"#,
            "{\n  \"b\": 1.10,\n  \"a\": [\n    true,\n    null,\n    \"x\\\"y\"\n  ]\n}"
        ),
        ("{\"a\":1}\n{\"a\":2}\n", "{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}"),
        ("1 2", "1\n2"),
        // From the first byte that is not JSON, the text passes unchanged.
        ("<html> x", "<html> x"), ("Not found\n", "Not found\n"), ("[1,}x", "[\n  1,\n  }x"),
        ("{\"a\" 1}", "{\n  \"a\"1}"),
        ("[01]", "[\n  01]"), ("]", "]"), ("{1}", "{1}"), ("[1 2]", "[\n  12]"), ("{,", "{,"), ("[,", "[,"),
        ("{:", "{:"),
        ("\"é\\u00e9\"", "\"é\\u00e9\""),
    ]

    @Test(arguments: rows.indices)
    func jsonIsFormatted(_ index: Int) {
        let row = Self.rows[index]
        #expect(Self.pretty([Array(row.input.utf8)]) == row.output)
    }

    @Test("formatted JSON does not depend on how the input is split", arguments: rows.indices)
    func isTheSameAtEverySplit(_ index: Int) {
        let row = Self.rows[index]
        let bytes = Array(row.input.utf8)
        for split in 0...bytes.count {
            #expect(Self.pretty([Array(bytes[..<split]), Array(bytes[split...])]) == row.output, "split at \(split)")
        }
        #expect(Self.pretty(bytes.map { [$0] }) == row.output)
    }

    @Test func jsonIsColored() {
        let text = Self.pretty([Array(#"{"a":[1,true,"s"]}"#.utf8)], colored: true)
        let key = "\u{1B}[1;34m\"a\"\u{1B}[0m"
        let values = ["\u{1B}[36m1\u{1B}[0m", "\u{1B}[35mtrue\u{1B}[0m", "\u{1B}[33m\"s\"\u{1B}[0m"]
        #expect(text == "{\n  \(key): [\n    \(values.joined(separator: ",\n    "))\n  ]\n}")
    }

    @Test func canColorWithoutFormatting() {
        let input = "{ \"a\" :\n1 }\n"
        #expect(Self.pretty([Array(input.utf8)], formatted: false) == input)
    }
}
