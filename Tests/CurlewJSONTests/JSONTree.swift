import Foundation

/// A value that uses the methods of its encoder in random combinations.
indirect enum JSONTree: Encodable {
    case nothing, null, bool(Bool), string(String), int(Int), small(Int8), unsigned(UInt64), wide(Int128)
    case double(Double), float(Float), decimal(Decimal), date(Date), data(Data), url(URL)
    case strings([String]), ints([Int]), doubles([Double]), floats([Float]), bytes([UInt8]), bools([Bool])
    case dictionary([String: JSONTree]), numbered([Int: JSONTree]), named([JSONTreeName: Int])
    case optional(Double?), typed(JSONPayload), failing
    case array([JSONTree]), object([(String, JSONTree)])
    case single(JSONTree), twice(JSONTree, JSONTree), nestedArray([JSONTree])
    case nested([(String, [(String, JSONTree)])])
    case superclass([(String, JSONTree)], JSONTree), path

    func encode(to encoder: any Encoder) throws {
        var single: any SingleValueEncodingContainer { encoder.singleValueContainer() }
        func one(_ value: some Encodable) throws {
            var container = single
            try container.encode(value)
        }
        switch self {
        case .nothing: break
        case .null:
            var container = single
            try container.encodeNil()
        case .bool(let value): try one(value)
        case .string(let value): try value.encode(to: encoder)
        case .int(let value): try value.encode(to: encoder)
        case .small(let value): try value.encode(to: encoder)
        case .unsigned(let value): try value.encode(to: encoder)
        case .wide(let value): try one(value)
        case .double(let value): try value.encode(to: encoder)
        case .float(let value): try value.encode(to: encoder)
        case .decimal(let value): try one(value)
        case .date(let value): try one(value)
        case .data(let value): try one(value)
        case .url(let value): try one(value)
        case .strings(let value): try one(value)
        case .ints(let value): try one(value)
        case .doubles(let value): try one(value)
        case .floats(let value): try one(value)
        case .bytes(let value): try one(value)
        case .bools(let value): try one(value)
        case .dictionary(let value): try one(value)
        case .numbered(let value): try one(value)
        case .named(let value): try one(value)
        case .optional(let value): try one(value)
        case .typed(let value): try one(value)
        case .failing:
            throw EncodingError.invalidValue(0, .init(codingPath: encoder.codingPath, debugDescription: "failing"))
        case .path:
            let path = encoder.codingPath.map { "\($0.stringValue)(\($0.intValue ?? -1))" }
            try one(path + ["\(encoder.userInfo.map { "\($0.key.rawValue)\($0.value)" })"])
        case .array(let values):
            var container = encoder.unkeyedContainer()
            for (index, value) in values.enumerated() {
                try Self.encode(value, into: &container)
                if container.count != index + 1 { try container.encode("count \(container.count)") }
            }
        case .object(let members):
            var container = encoder.container(keyedBy: JSONTestKey.self)
            for (key, value) in members { try Self.encode(value, into: &container, JSONTestKey(key)) }
        case .single(let value): try one(value)
        case .twice(let first, let second):
            var container = encoder.container(keyedBy: JSONTestKey.self)
            try Self.encode(first, into: &container, JSONTestKey("first"))
            var again = encoder.container(keyedBy: JSONTestKey.self)
            try Self.encode(second, into: &again, JSONTestKey("second"))
        case .nestedArray(let values):
            var outer = encoder.unkeyedContainer()
            var container = outer.nestedUnkeyedContainer()
            for value in values { try Self.encode(value, into: &container) }
            var object = outer.nestedContainer(keyedBy: JSONTestKey.self)
            if let value = values.last { try object.encode(value, forKey: JSONTestKey("last")) }
        case .nested(let objects):
            var outer = encoder.container(keyedBy: JSONTestKey.self)
            for (key, members) in objects {
                var inner = outer.nestedContainer(keyedBy: JSONTestKey.self, forKey: JSONTestKey(key))
                for (key, value) in members { try Self.encode(value, into: &inner, JSONTestKey(key)) }
                if members.count == 2 { try outer.encode(key, forKey: JSONTestKey("between \(key)")) }
                if members.count == 3 { try inner.encode(inner.codingPath.count, forKey: JSONTestKey("late")) }
            }
        case .superclass(let members, let parent):
            var container = encoder.container(keyedBy: JSONTestKey.self)
            try parent.encode(to: container.superEncoder())
            for (key, value) in members { try value.encode(to: container.superEncoder(forKey: JSONTestKey(key))) }
            if members.isEmpty { _ = container.superEncoder(forKey: JSONTestKey("empty")) }
        }
    }

    // Uses the container's method for the type of the value, if there is one.
    private static func encode(_ value: JSONTree, into container: inout any UnkeyedEncodingContainer) throws {
        switch value {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .small(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .float(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .doubles(let value): try container.encode(value)
        case .optional(let value): try container.encode(value)
        case .superclass(_, let parent): try parent.encode(to: container.superEncoder())
        case _: try container.encode(value)
        }
    }

    private static func encode(
        _ value: JSONTree,
        into container: inout KeyedEncodingContainer<JSONTestKey>,
        _ key: JSONTestKey
    ) throws {
        switch value {
        case .null: try container.encodeNil(forKey: key)
        case .bool(let value): try container.encode(value, forKey: key)
        case .string(let value): try container.encode(value, forKey: key)
        case .int(let value): try container.encode(value, forKey: key)
        case .small(let value): try container.encode(value, forKey: key)
        case .unsigned(let value): try container.encode(value, forKey: key)
        case .wide(let value): try container.encode(value, forKey: key)
        case .double(let value): try container.encode(value, forKey: key)
        case .float(let value): try container.encode(value, forKey: key)
        case .date(let value): try container.encode(value, forKey: key)
        case .data(let value): try container.encode(value, forKey: key)
        case .url(let value): try container.encode(value, forKey: key)
        case .decimal(let value): try container.encode(value, forKey: key)
        case .doubles(let value): try container.encode(value, forKey: key)
        case .optional(let value): try container.encodeIfPresent(value, forKey: key)
        case .dictionary(let value): try container.encode(value, forKey: key)
        case _: try container.encode(value, forKey: key)
        }
    }
}

extension JSONTree {
    /// Whether the value contains a dictionary. The hashes of its keys decide which of several errors is thrown first.
    var isUnordered: Bool {
        switch self {
        case .dictionary, .numbered: true
        case .array(let values), .nestedArray(let values): values.contains(where: \.isUnordered)
        case .object(let members): members.contains { $0.1.isUnordered }
        case .single(let value): value.isUnordered
        case .twice(let first, let second): first.isUnordered || second.isUnordered
        case .nested(let objects): objects.contains { $0.1.contains { $0.1.isUnordered } }
        case .superclass(let members, let parent): parent.isUnordered || members.contains { $0.1.isUnordered }
        case _: false
        }
    }
}

enum JSONTreeName: String, Codable, CodingKeyRepresentable { case someName, otherName, a }
