import Foundation

/// A type that calls every method of its decoder and records the results.
struct JSONWalk: Decodable {
    var log: [String] = []

    init(from decoder: any Decoder) throws {
        note("path", path(decoder.codingPath))
        note("info", "\(decoder.userInfo.map { "\($0.key.rawValue)=\($0.value)" }.sorted())")
        try single(decoder)
        keyed(decoder)
        unkeyed(decoder)
    }

    private mutating func note(_ name: String, _ value: String) { log.append("\(name): \(value)") }

    private func path(_ keys: [any CodingKey]) -> String {
        keys.map { "\($0.stringValue)(\($0.intValue.map(String.init) ?? ""))" }.joined(separator: "/")
    }

    private mutating func single(_ decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        note("nil", "\(container.decodeNil())")
        note("Bool", JSONOutcome.of { try container.decode(Bool.self) })
        note("String", JSONOutcome.of { try container.decode(String.self) })
        note("Double", JSONOutcome.of { try container.decode(Double.self) })
        note("Float", JSONOutcome.of { try container.decode(Float.self) })
        note("Int", JSONOutcome.of { try container.decode(Int.self) })
        note("Int8", JSONOutcome.of { try container.decode(Int8.self) })
        note("UInt16", JSONOutcome.of { try container.decode(UInt16.self) })
        note("UInt64", JSONOutcome.of { try container.decode(UInt64.self) })
        note("Int128", JSONOutcome.of { try container.decode(Int128.self) })
        note("UInt128", JSONOutcome.of { try container.decode(UInt128.self) })
        note("Date", JSONOutcome.of { try container.decode(Date.self) })
        note("Data", JSONOutcome.of { try container.decode(Data.self) })
        note("URL", JSONOutcome.of { try container.decode(URL.self) })
        note("Decimal", JSONOutcome.of { try container.decode(Decimal.self) })
        note("[Int]", JSONOutcome.of { try container.decode([Int].self) })
        note("[String]", JSONOutcome.of { try container.decode([String].self) })
        note("[Double?]", JSONOutcome.of { try container.decode([Double?].self) })
        note("[Date]", JSONOutcome.of { try container.decode([Date].self) })
        note("[Bool]", JSONOutcome.of { try container.decode([Bool].self) })
    }

    private mutating func keyed(_ decoder: any Decoder) {
        let container: KeyedDecodingContainer<JSONTestKey>
        do {
            container = try decoder.container(keyedBy: JSONTestKey.self)
        } catch {
            return note("keyed", JSONOutcome.describe(error))
        }
        let keys = container.allKeys.map(\.stringValue).sorted()
        note("keys", JSONOutcome.describe(keys))
        for key in (keys + ["absent"]).map(JSONTestKey.init) {
            note("contains", "\(container.contains(key))")
            note("nil", JSONOutcome.of { try container.decodeNil(forKey: key) })
            note("Bool", JSONOutcome.of { try container.decode(Bool.self, forKey: key) })
            note("Bool?", JSONOutcome.of { try container.decodeIfPresent(Bool.self, forKey: key) })
            note("String", JSONOutcome.of { try container.decode(String.self, forKey: key) })
            note("String?", JSONOutcome.of { try container.decodeIfPresent(String.self, forKey: key) })
            note("Double", JSONOutcome.of { try container.decode(Double.self, forKey: key) })
            note("Float?", JSONOutcome.of { try container.decodeIfPresent(Float.self, forKey: key) })
            note("Int", JSONOutcome.of { try container.decode(Int.self, forKey: key) })
            note("UInt32?", JSONOutcome.of { try container.decodeIfPresent(UInt32.self, forKey: key) })
            note("Int128?", JSONOutcome.of { try container.decodeIfPresent(Int128.self, forKey: key) })
            note("Date", JSONOutcome.of { try container.decode(Date.self, forKey: key) })
            note("Date?", JSONOutcome.of { try container.decodeIfPresent(Date.self, forKey: key) })
            note("Decimal", JSONOutcome.of { try container.decode(Decimal.self, forKey: key) })
            let strings = try? container.decode([String: String].self, forKey: key)
            note("strings", JSONOutcome.describe(strings as Any))
            note(
                "nested keyed",
                JSONOutcome.of {
                    let nested = try container.nestedContainer(keyedBy: JSONTestKey.self, forKey: key)
                    return path(nested.codingPath) + JSONOutcome.describe(nested.allKeys.map(\.stringValue).sorted())
                        + JSONOutcome.of { try nested.decode(Date.self, forKey: JSONTestKey("a")) }
                })
            note(
                "nested unkeyed",
                JSONOutcome.of {
                    var nested = try container.nestedUnkeyedContainer(forKey: key)
                    return path(nested.codingPath) + "\(nested.count ?? -1)"
                        + JSONOutcome.of { try nested.decode(Date.self) }
                })
            note("super", JSONOutcome.of { try JSONPeek(from: container.superDecoder(forKey: key)) })
            note("walk", JSONOutcome.of { try container.decode(JSONWalk.self, forKey: key).log })
        }
        note("super", JSONOutcome.of { try JSONPeek(from: container.superDecoder()) })
    }

    private mutating func unkeyed(_ decoder: any Decoder) {
        do {
            var container = try decoder.unkeyedContainer()
            var turn = 0
            while turn < 40 {
                note("at", "\(container.currentIndex) \(container.isAtEnd) \(container.count ?? -1)")
                note("nil", JSONOutcome.of { try container.decodeNil() })
                switch turn % 8 {
                case 0: note("Int", JSONOutcome.of { try container.decode(Int.self) })
                case 1: note("String?", JSONOutcome.of { try container.decodeIfPresent(String.self) })
                case 2: note("Date", JSONOutcome.of { try container.decode(Date.self) })
                case 3: note("Bool?", JSONOutcome.of { try container.decodeIfPresent(Bool.self) })
                case 4:
                    note(
                        "nested",
                        JSONOutcome.of {
                            var nested = try container.nestedUnkeyedContainer()
                            return path(nested.codingPath) + JSONOutcome.of { try nested.decode(Date.self) }
                        })
                case 5:
                    note(
                        "nested",
                        JSONOutcome.of {
                            path(try container.nestedContainer(keyedBy: JSONTestKey.self).codingPath)
                        })
                case 6: note("super", JSONOutcome.of { try JSONPeek(from: container.superDecoder()) })
                case _: note("walk", JSONOutcome.of { try container.decodeIfPresent(JSONWalk.self)?.log })
                }
                turn += 1
                if container.isAtEnd, turn > 12 { break }
            }
        } catch {
            note("unkeyed", JSONOutcome.describe(error))
        }
    }
}

/// Records the coding path and a string of its decoder.
struct JSONPeek: Decodable {
    var path: [String]
    var string: String

    init(from decoder: any Decoder) throws {
        path = decoder.codingPath.map(\.stringValue)
        string = JSONOutcome.of { try decoder.singleValueContainer().decode(String.self) }
    }
}
