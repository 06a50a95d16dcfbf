import CurlewJSON
import Foundation
import Testing

@Suite("FastJSONDecoder")
struct FastJSONDecoderTests {
    /// Returns all texts, or every sixth with a sanitizer, because each then takes ten times as long.
    private static func enough<T>(_ texts: [T]) -> [T] {
        guard ProcessInfo.processInfo.environment["CURLEW_SANITIZER"] ?? "plain" != "plain" else { return texts }
        return stride(from: 0, to: texts.count, by: 6).map { texts[$0] }
    }

    /// Returns the first difference between the two decoders for one text, over all types and sets of options.
    static func difference(
        _ data: Data,
        options: [JSONOptions] = JSONOptions.all,
        probes: [JSONProbe] = JSONProbe.all
    ) -> String? {
        for options in options {
            for probe in probes {
                let (fast, foundation) = (probe.run(options.fast, data), probe.run(options.foundation, data))
                if fast != foundation {
                    return "\(probe.name), \(options.name): \(JSONOutcome.difference(fast, foundation))"
                }
            }
        }
        return nil
    }

    @Test("decodes texts as JSONDecoder does", arguments: enough(JSONTexts.all))
    func texts(text: JSONTexts.Text) {
        #expect(Self.difference(text.data, options: [.plain]) == nil, "\(text)")
        #expect(
            Self.difference(text.data, options: Array(JSONOptions.all[1...]), probes: JSONProbe.few) == nil, "\(text)")
    }

    @Test("decodes numbers as JSONDecoder does", arguments: enough(JSONTexts.numbers))
    func numbers(number: String) {
        for text in [number, "[\(number)]", "{\"a\":\(number),\"b\":[\(number) ]}"] {
            let found = Self.difference(Data(text.utf8), options: [.plain], probes: JSONProbe.numeric)
            #expect(found == nil, "\(text)")
        }
    }

    @Test("decodes strings as JSONDecoder does", arguments: enough(JSONTexts.strings))
    func strings(string: JSONTexts.Text) {
        for (before, after) in [("", ""), ("[", "]"), ("{\"a\":", "}"), ("{", ":1}"), ("{\"b\":1,", ":2,\"b\":3}")] {
            let text = Data(before.utf8) + string.data + Data(after.utf8)
            let found = Self.difference(text, options: Array(JSONOptions.all[..<2]), probes: JSONProbe.few)
            #expect(found == nil, "\(string)")
        }
    }

    @Test(
        "decodes texts that are nested as deeply as JSONDecoder permits",
        .enabled(
            if: ProcessInfo.processInfo.environment["CURLEW_SANITIZER"] != "address",
            "the comparison of two values of 512 levels needs more stack than a task has under the address sanitizer"),
        arguments: JSONTexts.deep)
    func depth(text: JSONTexts.Text) {
        let found = Self.difference(text.data, options: [.plain], probes: [JSONProbe(unordered: JSONAny.self)])
        #expect(found == nil)
    }

    // For a long run with other texts, set CURLEW_JSON_FUZZ_SECONDS and CURLEW_JSON_FUZZ_SEED.
    @Test("decodes random texts as JSONDecoder does")
    func random() throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["CURLEW_JSON_FUZZ_SECONDS"].flatMap(Double.init)
        var fuzz = JSONFuzz(seed: environment["CURLEW_JSON_FUZZ_SEED"].flatMap(UInt64.init) ?? 1)
        let start = ContinuousClock.now
        var count = 0
        while seconds.map({ ContinuousClock.now - start < .seconds($0) }) ?? (count < 30) {
            let text = fuzz.text()
            let found = Self.difference(text)
            if let found {
                Issue.record("\(String(decoding: text, as: UTF8.self)) (\(text.base64EncodedString())): \(found)")
            }
            count += 1
        }
        if seconds != nil { print("\(count) random texts compared") }
    }

    @Test(
        "decodes JSON5 and texts without braces as JSONDecoder does",
        arguments: ["{a:1,b:'x',}", "a:1,b:'x'", "{\"a\":1,\"b\":\"x\"}", "{", "\"a\":1"])
    func json5(text: String) {
        var options = JSONOptions(name: "JSON5")
        for (json5, top) in [(true, false), (true, true), (false, true)] {
            (options.allowsJSON5, options.assumesTopLevelDictionary) = (json5, top)
            let found = Self.difference(Data(text.utf8), options: [options])
            #expect(found == nil)
        }
    }

    // JSONDecoder of Swift 6.3 reads beyond the end of these texts and crashes.
    @Test("throws an error for texts on which JSONDecoder crashes")
    func crashes() {
        let brackets = Data(String(repeating: "[", count: 513).utf8)
        var json5 = FastJSONDecoder()
        json5.allowsJSON5 = true
        for decoder in [FastJSONDecoder(), json5] {
            #expect(throws: DecodingError.self) { try decoder.decode([Int].self, from: brackets) }
            let braces = Data(String(repeating: "{\"a\":", count: 513).utf8)
            #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: braces) }
        }
        for text in [
            "+", "-", "[1", "[+", "[-", "0x", "[0x", "[.", ".", "I", "[N", "[-I", "{a:1", "/", "[/", "/*", "[1e", "1e+",
            "[1e-]", "-0x8000000000000001",
        ] {
            #expect(throws: DecodingError.self, "\(text)") { try json5.decode([Int].self, from: Data(text.utf8)) }
            #expect(throws: DecodingError.self, "\(text)") { try json5.decode(Double.self, from: Data(text.utf8)) }
        }
        #expect((try? json5.decode(Double.self, from: Data(".5".utf8))) == 0.5)
        #expect((try? json5.decode(Int.self, from: Data("0x1F".utf8))) == 31)
        #expect(throws: DecodingError.self) { try json5.decode(Int.self, from: Data("-0x8000000000000001".utf8)) }
    }

    @Test("a decoder and a container that outlive the decoding can still be used")
    func escaping() throws {
        struct Kept: Decodable {
            let decoder: any Decoder
            let container: KeyedDecodingContainer<JSONTestKey>
            init(from decoder: any Decoder) throws {
                self.decoder = decoder
                container = try decoder.container(keyedBy: JSONTestKey.self)
            }
        }
        var kept: Kept?
        do {
            var data = Data("{\"a\":\"some text that is not small\",\"b\":[1,2]}".utf8)
            kept = try FastJSONDecoder().decode(Kept.self, from: data)
            data.resetBytes(in: 0..<data.count)
        }
        let container = try #require(kept?.container)
        #expect(try container.decode(String.self, forKey: JSONTestKey("a")) == "some text that is not small")
        let again = try #require(try kept?.decoder.container(keyedBy: JSONTestKey.self))
        #expect(try again.decode([Int].self, forKey: JSONTestKey("b")) == [1, 2])
    }

    @Test("finds keys that are canonically equivalent, as JSONDecoder does")
    func equivalentKeys() {
        // The Kelvin sign, the Greek question mark and the varia are canonically equivalent to ASCII characters.
        let texts = [
            #"{"a":0,"K":1,";":2,"`":3,"é":4,"Å":5}"#, #"{"a":0,"K":1,";":2,"`":3}"#, #"{"e\u0301":1,"\u212a":2}"#,
            "{}",
        ]
        for text in texts {
            #expect(
                Self.difference(Data(text.utf8), options: [.plain], probes: [JSONProbe(JSONEquivalentKeys.self)]) == nil
            )
        }
        let text = Data(#"{"K":1}"#.utf8)
        #expect((try? FastJSONDecoder().decode(JSONEquivalentKeys.self, from: text))?.found.first == 1)
    }

    @Test("rounds to the nearest Double, as the standard library does")
    func rounding() throws {
        var state: UInt64 = 7
        func random() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 33)
        }
        for turn in 0..<5_000 {
            let digits = "\(random() >> (random() % 60) | 1)"
            let number = turn % 2 == 0 ? "\(digits)e\(Int(random() % 140) - 70)" : "\(random() % 1000).\(digits)"
            let double = try FastJSONDecoder().decode(Double.self, from: Data(number.utf8))
            #expect(double == Double(number), "\(number)")
            // A number halfway between two doubles, or close to it.
            let middle = (Double(random() >> 11) + 0.5) * 4
            let text = "\(UInt64(middle))"
            #expect(try FastJSONDecoder().decode(Double.self, from: Data(text.utf8)) == Double(text), "\(text)")
        }
    }
}
