import Foundation
import Testing

/// A value to encode with both encoders, and its name.
struct JSONEncodables: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let difference: @Sendable () -> String?

    init<T: Encodable & SendableMetatype>(_ name: String, _ value: @autoclosure @escaping @Sendable () -> T) {
        testDescription = name
        difference = { FastJSONEncoderTests.difference(value()) }
    }

    static var all: [JSONEncodables] { scalars + collections + types + ways }

    private static let scalars = [
        JSONEncodables("null", Int?.none), JSONEncodables("true", true), JSONEncodables("Int.min", Int.min),
        JSONEncodables("UInt64.max", UInt64.max), JSONEncodables("Int128.min", Int128.min),
        JSONEncodables("UInt128.max", UInt128.max), JSONEncodables("nan", Double.nan),
        JSONEncodables("infinity", [-Float.infinity]), JSONEncodables("text", "a/b\\\"\n\u{1f}\u{7f}é\u{2028}😀\0"),
        JSONEncodables("empty", ""), JSONEncodables("date", Date(timeIntervalSince1970: 1_700_000_000.987)),
        JSONEncodables("old date", Date(timeIntervalSince1970: -62_000_000_000.5)),
        JSONEncodables("data", Data([0xff, 0xfe, 0xfd, 1])), JSONEncodables("no data", Data()),
        JSONEncodables("endless date", ["a": [Date(timeIntervalSinceReferenceDate: .nan)]]),
        JSONEncodables("decimal", Decimal(string: "-123456789012345678901234567890.5")),
        JSONEncodables("no decimal", Decimal.nan), JSONEncodables("url", URL(string: "https://a.b/c%20d?e=f&g=é#h")),
        JSONEncodables("uuid", UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")),
    ]

    private static let collections = [
        JSONEncodables("empty array", [Int]()), JSONEncodables("empty object", [String: Int]()),
        JSONEncodables("empty arrays", [[[Int]]]([[], [[]]])), JSONEncodables("optionals", [1, nil, 3]),
        JSONEncodables("Int8s", [Int8(1), -2]), JSONEncodables("set", Set([1])), JSONEncodables("range", 1..<5),
        JSONEncodables("Int keys", [1: "a", 2: "b"]), JSONEncodables("enum keys", [JSONTreeName.someName: 1]),
        JSONEncodables("UUID keys", [UUID(): 1]), JSONEncodables("Double keys", [1.5: 1]),
        JSONEncodables("keys to convert", ["someName": ["URLOfThing": JSONWrapped(a: 1, b: 2)]]),
        JSONEncodables("keys to sort", ["a/": 1, "a.": 2, "a0": 3, "a\n": 4, "a\u{1f}": 5, "a\"": 6, "": 7, "é": 8]),
        JSONEncodables(
            "many keys", Dictionary(uniqueKeysWithValues: (0..<3000).map { ("key \($0)/é", $0) })),
    ]

    private static let types = [
        JSONEncodables(
            "plain",
            JSONPlain(
                a: 1, b: "x", c: nil, d: 0.5, e: ["f"], f: .init(a: 1, b: nil), g: .admin, h: .high, i: [],
                userName: "n", createdAt: Date(timeIntervalSince1970: 0), id: nil)),
        JSONEncodables("payloads", [JSONPayload.a(1), .b(name: "x", count: nil), .c]),
        JSONEncodables("nested optionals", JSONOptionalKey(a: .some(nil), b: [nil, 1], c: ["a": ["b": nil]])),
        JSONEncodables("wrapped", JSONWrapped(a: 1, b: 2)),
        JSONEncodables(
            "dictionaries", JSONDictionaries(a: [1: "a"], b: [.a: 2], c: ["x": .init(a: 1, b: 2)], d: [UUID(): 1])),
        JSONEncodables("subclass", JSONEncodableDerived()), JSONEncodables("nothing", JSONTree.nothing),
        JSONEncodables("nothings", [JSONTree.nothing]), JSONEncodables("failing", ["a": [JSONTree.failing]]),
    ]

    // Values that cannot be written from front to back, so the encoder leaves them to JSONEncoder.
    private static let ways: [JSONEncodables] = [
        JSONEncodables(
            "the same key twice", JSONTree.object([("a", .int(1)), ("b", .int(2)), ("a", .array([.int(3)]))])),
        JSONEncodables("equivalent keys", JSONTree.object([("é", .int(1)), ("e\u{301}", .int(2)), ("b", .int(3))])),
        JSONEncodables("equivalent ASCII", JSONTree.object([("K", .int(1)), ("\u{212a}", .int(2))])),
        JSONEncodables("equivalent, escaped", JSONTree.object([("é/", .int(1)), ("e\u{301}/", .int(2))])),
        JSONEncodables(
            "one of many keys twice", JSONTree.object((0..<99).map { ("k\($0)", .int($0)) } + [("k50", .null)])),
        JSONEncodables(
            "a container after its parent", JSONTree.nested([("a", [("b", .null), ("c", .null), ("d", .null)])])),
        JSONEncodables("a superclass in an array", JSONTree.array([.int(1), .superclass([], .int(2)), .int(3)])),
        JSONEncodables("a value, then more of it", JSONAddition()),
        JSONEncodables("510 arrays", (0..<509).reduce(JSONTree.array([])) { tree, _ in .array([tree]) }),
        JSONEncodables("511 arrays", (0..<510).reduce(JSONTree.array([])) { tree, _ in .array([tree]) }),
        JSONEncodables("512 arrays", (0..<511).reduce(JSONTree.array([])) { tree, _ in .array([tree]) }),
        JSONEncodables("512 levels", (0..<510).reduce(JSONTree.ints([1])) { tree, _ in .array([tree]) }),
    ]
}

class JSONEncodableBase: Encodable {
    var a = 1
    enum Keys: String, CodingKey { case a }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(a, forKey: .a)
    }
}

final class JSONEncodableDerived: JSONEncodableBase {
    enum OwnKeys: String, CodingKey { case b, parent }
    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: OwnKeys.self)
        try container.encode("x", forKey: .b)
        try super.encode(to: container.superEncoder())
        try super.encode(to: container.superEncoder(forKey: .parent))
    }
}

/// Encodes a dictionary as its value, and then another key.
struct JSONAddition: Encodable {
    func encode(to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        try single.encode(["a": 1])
        var container = encoder.container(keyedBy: JSONTestKey.self)
        try container.encode(2, forKey: JSONTestKey("b"))
    }
}
