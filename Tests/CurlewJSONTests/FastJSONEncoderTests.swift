import CurlewJSON
import Foundation
import Testing

@Suite("FastJSONEncoder")
struct FastJSONEncoderTests {
    /// Returns the first difference between the two encoders, over all sets of options.
    static func difference(_ value: some Encodable) -> String? {
        JSONEncoderOptions.all.lazy.compactMap { $0.difference(value) }.first
    }

    // For a long run with other values, set CURLEW_JSON_FUZZ_SECONDS and CURLEW_JSON_FUZZ_SEED.
    @Test("encodes random values as JSONEncoder does")
    func random() {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["CURLEW_JSON_FUZZ_SECONDS"].flatMap(Double.init)
        let seed = environment["CURLEW_JSON_FUZZ_SEED"].flatMap(UInt64.init) ?? 1
        let start = ContinuousClock.now
        var count: UInt64 = 0
        while seconds.map({ ContinuousClock.now - start < .seconds($0) }) ?? (count < 400) {
            var fuzz = JSONTreeFuzz(seed: seed &* 1_000_000_007 &+ count)
            let tree = fuzz.tree()
            if let found = Self.difference(tree) { Issue.record("value \(count): \(found)") }
            count += 1
        }
        if seconds != nil { print("\(count) random values compared") }
    }

    /// Encodes null if one of its numbers cannot be encoded.
    private struct Lenient: Encodable {
        let numbers: [Double]

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            do { try container.encode(numbers) } catch { try container.encodeNil() }
        }
    }

    @Test("an array with a number that cannot be encoded leaves no output behind")
    func caughtFailure() throws {
        let value = ["a": [Lenient(numbers: [1, .nan]), Lenient(numbers: [2]), Lenient(numbers: [.infinity])]]
        // Foundation's encoder traps for this value.
        #expect(String(decoding: try FastJSONEncoder().encode(value), as: UTF8.self) == #"{"a":[null,[2],null]}"#)
    }

    @Test("encodes values of all types as JSONEncoder does", arguments: JSONEncodables.all)
    func values(named: JSONEncodables) {
        #expect(named.difference() == nil)
    }

    // The encoder writes texts eight bytes at a time, so an escape can be at each of eight offsets.
    @Test("escapes characters at every position of texts as JSONEncoder does")
    func escapes() {
        var texts: [String] = []
        for count in 0...34 {
            let plain = String(repeating: "x", count: count)
            texts.append(plain)
            for place in 0..<count {
                for special in ["\"", "/", "\n", "é"] {
                    texts.append(plain.prefix(place) + special + plain.dropFirst(place + 1))
                }
            }
        }
        #expect(Self.difference(texts) == nil)
        let keys = texts.map { ($0, JSONTree.null) }
        #expect(JSONEncoderOptions.plain.difference(keys.map { JSONTree.object([$0]) }) == nil)
    }

    @Test("encoding another value does not change an earlier result")
    func severalTexts() throws {
        for count in [1, 300, 400, 30_000] {
            let encoder = FastJSONEncoder()
            let first = try encoder.encode(Array(repeating: 7, count: count))
            let second = try encoder.encode(Array(repeating: 8, count: count))
            #expect(first.count == 2 * count + 1 && second.count == first.count)
            #expect(first.dropFirst().dropLast().allSatisfy { $0 == UInt8(ascii: "7") || $0 == UInt8(ascii: ",") })
            #expect(second.dropFirst().dropLast().allSatisfy { $0 == UInt8(ascii: "8") || $0 == UInt8(ascii: ",") })
        }
    }

    @Test("encodes numbers as JSONEncoder does")
    func numbers() {
        var state: UInt64 = 7
        for _ in 0..<3_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let bits = state ^ (state >> 33)
            let doubles = [Double(bitPattern: bits), Double(bits >> 40) / 100, Double(bits >> 11)].filter(\.isFinite)
            let floats = [Float(bitPattern: UInt32(truncatingIfNeeded: bits))].filter(\.isFinite)
            #expect(JSONEncoderOptions.plain.difference(doubles) == nil)
            #expect(JSONEncoderOptions.plain.difference(floats) == nil)
            #expect(JSONEncoderOptions.plain.difference([bits >> (bits % 64): Int8(truncatingIfNeeded: bits)]) == nil)
        }
    }

    @Test("writes keys in the order in which the type encodes them")
    func order() throws {
        struct Ordered: Encodable { var zebra = 1, apple = [2], middle = "3" }
        let text = try FastJSONEncoder().encode(Ordered())
        #expect(String(decoding: text, as: UTF8.self) == #"{"zebra":1,"apple":[2],"middle":"3"}"#)
    }

    // JSONEncoder of Swift 6.3 traps for these values.
    @Test("throws an error for values on which JSONEncoder crashes")
    func misuse() {
        struct Misuse: Encodable {
            let body: @Sendable (any Encoder) throws -> Void
            func encode(to encoder: any Encoder) throws { try body(encoder) }
        }
        let bodies: [@Sendable (any Encoder) throws -> Void] = [
            { encoder in
                var container = encoder.container(keyedBy: JSONTestKey.self)
                try container.encode(1, forKey: JSONTestKey("a"))
                _ = encoder.unkeyedContainer()
            },
            { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            },
            { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(1)
                var keyed = encoder.container(keyedBy: JSONTestKey.self)
                try keyed.encode(1, forKey: JSONTestKey("a"))
            },
        ]
        for body in bodies {
            #expect(throws: EncodingError.self) { try FastJSONEncoder().encode(["x": Misuse(body: body)]) }
        }
    }

    // According to its sources, JSONEncoder writes the rest of the failed object into the next one, so its result is
    // not compared.
    @Test("a value that could not be encoded leaves no output behind")
    func failed() throws {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: JSONTestKey.self)
                try container.encode(1, forKey: JSONTestKey("left"))
                var nested = container.nestedUnkeyedContainer(forKey: JSONTestKey("nested"))
                try nested.encode(Double.nan)
            }
        }
        struct Outer: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: JSONTestKey.self)
                try? container.encode(Failing(), forKey: JSONTestKey("a"))
                try container.encode(["b": 1], forKey: JSONTestKey("a"))
            }
        }
        for format: JSONEncoder.OutputFormatting in [[], .sortedKeys] {
            var encoder = FastJSONEncoder()
            encoder.outputFormatting = format
            let text = try encoder.encode([Outer(), Outer()])
            #expect(String(decoding: text, as: UTF8.self) == #"[{"a":{"b":1}},{"a":{"b":1}}]"#)
        }
    }

    @Test("containers that outlive the encoding do not change its result")
    func escaping() throws {
        final class Kept { var container: KeyedEncodingContainer<JSONTestKey>?; var encoder: (any Encoder)? }
        struct Escaping: Encodable {
            let kept: Kept
            func encode(to encoder: any Encoder) throws {
                kept.encoder = encoder
                kept.container = encoder.container(keyedBy: JSONTestKey.self)
                try kept.container?.encode("x", forKey: JSONTestKey("a"))
            }
        }
        let kept = Kept()
        let text = try FastJSONEncoder().encode(Escaping(kept: kept))
        try? kept.container?.encode(1, forKey: JSONTestKey("late"))
        var late = kept.encoder?.unkeyedContainer()
        try? late?.encode("late")
        #expect(late?.count == 0)
        #expect(kept.encoder?.codingPath.isEmpty == true)
        #expect(String(decoding: text, as: UTF8.self) == #"{"a":"x"}"#)
    }

    @Test("fastEncode uses the options of a JSONEncoder, and the method of a subclass")
    func subclass() throws {
        // SAFETY: the class adds no state to JSONEncoder.
        final class Shouting: JSONEncoder, @unchecked Sendable {
            override func encode<T: Encodable>(_ value: T) throws -> Data { Data("LOUD".utf8) }
        }
        #expect(try Shouting().fastEncode(1) == Data("LOUD".utf8))
        let plain = JSONEncoder()
        plain.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(try plain.fastEncode(["b": "/", "a": "x"]) == Data(#"{"a":"x","b":"/"}"#.utf8))
    }
}
