import Foundation

// Common types, and types that use the difficult parts of Codable.

struct JSONPlain: Codable {
    enum Role: String, Codable { case admin, editor }
    enum Level: Int, Codable { case low, high }
    struct Place: Codable { var a: Double, b: Double? }

    var a: Int
    var b: String
    var c: Bool?
    var d: Double?
    var e: [String]?
    var f: Place?
    var g: Role?
    var h: Level?
    var i: [Place]?
    var userName: String?
    var createdAt: Date?
    var id: UUID?
}

enum JSONPayload: Codable {
    case a(Int)
    case b(name: String, count: Int?)
    case c
}

struct JSONOptionalKey: Codable { var a: Int??; var b: [Int?]?; var c: [String: [String: Int?]]? }

struct JSONDictionaries: Codable {
    enum Name: String, Codable, CodingKeyRepresentable { case a, b, c, d }
    var a: [Int: String]?
    var b: [Name: Int]?
    var c: [String: JSONPlain.Place]?
    var d: [UUID: Int]?
}

@propertyWrapper
struct JSONDefaulted<Value: Codable & ExpressibleByIntegerLiteral>: Codable {
    var wrappedValue: Value
    init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    init(from decoder: any Decoder) throws {
        wrappedValue = (try? decoder.singleValueContainer().decode(Value.self)) ?? 7
    }
    func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

struct JSONWrapped: Codable { @JSONDefaulted var a: Int; @JSONDefaulted var b: Double }

class JSONBase: Decodable {
    var a: Int
    private enum Keys: String, CodingKey { case a }
    required init(from decoder: any Decoder) throws {
        a = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .a)
    }
}

final class JSONDerived: JSONBase {
    var b: String
    private enum Keys: String, CodingKey { case b }
    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        b = try container.decode(String.self, forKey: .b)
        try super.init(from: container.superDecoder())
    }
}

/// Decodes a value by trying one type after another.
indirect enum JSONAny: Decodable {
    case null, bool(Bool), int(Int), double(Double), string(String), array([JSONAny]), object([String: JSONAny])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONAny].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONAny].self))
        }
    }
}

/// Asks for keys that are canonically equivalent to those of the text, but have other scalars.
struct JSONEquivalentKeys: Decodable {
    var found: [Int?] = []

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: JSONTestKey.self)
        for key in ["\u{212a}", "\u{37e}", "\u{1fef}", "e\u{301}", "\u{212b}", "é", "ß", "k"] {
            found.append(try container.decodeIfPresent(Int.self, forKey: JSONTestKey(key)))
        }
    }
}

/// Decodes one type with either decoder, and describes the result.
struct JSONProbe {
    let name: String
    let run: (JSONSide, Data) -> String

    init<T: Decodable>(_ type: T.Type) {
        name = "\(type)"
        run = { side, data in JSONOutcome.of { try side.decode(type, data) } }
    }

    /// Probes a type with dictionaries, without details of errors: the hashes of the keys decide which of several
    /// errors JSONDecoder finds first.
    init<T: Decodable>(unordered type: T.Type) {
        name = "\(type)"
        run = { side, data in
            do {
                return JSONOutcome.describe(try side.decode(type, data))
            } catch {
                return "an error"
            }
        }
    }

    static var all: [JSONProbe] {
        [
            JSONProbe(JSONWalk.self), JSONProbe(unordered: JSONAny.self), JSONProbe(JSONPlain.self),
            JSONProbe([JSONPlain].self),
            JSONProbe(JSONPayload.self), JSONProbe([JSONPayload].self), JSONProbe(unordered: JSONOptionalKey.self),
            JSONProbe(unordered: JSONDictionaries.self), JSONProbe(JSONWrapped.self), JSONProbe(JSONDerived.self),
            JSONProbe(unordered: [String: Int].self), JSONProbe(unordered: [String: [String: JSONPlain]].self),
            JSONProbe(unordered: [Int: Int].self),
            JSONProbe([Int].self), JSONProbe([String].self), JSONProbe([Float].self), JSONProbe([[Int]].self),
            JSONProbe([Date].self), JSONProbe([Decimal].self), JSONProbe([Data].self), JSONProbe([URL].self),
            JSONProbe([UInt8].self), JSONProbe([Int64].self), JSONProbe([Bool].self), JSONProbe([Double].self),
            JSONProbe(Set<Int>.self), JSONProbe(Int?.self), JSONProbe(String.self), JSONProbe(Date.self),
            JSONProbe(Decimal.self), JSONProbe(Bool.self), JSONProbe(Double.self), JSONProbe(Float.self),
            JSONProbe(UInt64.self), JSONProbe(Int8.self), JSONProbe(Data.self), JSONProbe(URL.self),
        ]
    }

    static var few: [JSONProbe] {
        [
            JSONProbe(JSONWalk.self), JSONProbe(unordered: JSONAny.self), JSONProbe(JSONPlain.self),
            JSONProbe(unordered: [String: Int].self), JSONProbe([String].self), JSONProbe(String.self),
            JSONProbe(URL.self),
        ]
    }

    static var numeric: [JSONProbe] {
        [
            JSONProbe(JSONWalk.self), JSONProbe(Int.self), JSONProbe(UInt64.self), JSONProbe(Int8.self),
            JSONProbe(Double.self),
            JSONProbe(Float.self), JSONProbe(Decimal.self), JSONProbe([Int].self), JSONProbe([Double].self),
            JSONProbe([Float].self), JSONProbe([Decimal].self), JSONProbe([Int64].self),
            JSONProbe(unordered: JSONAny.self),
        ]
    }
}
