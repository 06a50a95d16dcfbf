import CurlewJSON
import Foundation

/// One set of options for both encoders, and the comparison of their results.
struct JSONEncoderOptions: Sendable {
    var name: String
    var format: JSONEncoder.OutputFormatting = []
    var dates: JSONEncoder.DateEncodingStrategy = .deferredToDate
    var data: JSONEncoder.DataEncodingStrategy = .base64
    var floats: JSONEncoder.NonConformingFloatEncodingStrategy = .throw
    var keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys

    static let plain = JSONEncoderOptions(name: "plain")

    static let all: [JSONEncoderOptions] = [
        plain,
        JSONEncoderOptions(name: "sorted, slashes", format: [.sortedKeys, .withoutEscapingSlashes]),
        JSONEncoderOptions(
            name: "pretty, iso8601, snake case, words for infinity", format: .prettyPrinted, dates: .iso8601,
            data: .deferredToData,
            floats: .convertToString(positiveInfinity: "inf/", negativeInfinity: "-inf", nan: "nän"),
            keys: .convertToSnakeCase),
        JSONEncoderOptions(
            name: "pretty, sorted, closures", format: [.prettyPrinted, .sortedKeys],
            dates: .custom { date, encoder in
                let seconds = date.timeIntervalSince1970
                if seconds < 0 { return }
                if seconds > 1e9 {
                    var container = encoder.container(keyedBy: JSONTestKey.self)
                    return try container.encode(seconds, forKey: JSONTestKey("at"))
                }
                var container = encoder.singleValueContainer()
                try container.encode(encoder.codingPath.map(\.stringValue) + ["\(seconds)"])
            },
            data: .custom { data, encoder in
                if data.isEmpty { return }
                var container = encoder.unkeyedContainer()
                for byte in data { try container.encode(byte) }
            },
            keys: .custom { path in JSONTestKey((path.last?.stringValue ?? "").uppercased() + "\(path.count)") }),
        JSONEncoderOptions(name: "seconds", format: .sortedKeys, dates: .secondsSince1970),
        JSONEncoderOptions(
            name: "milliseconds", dates: .millisecondsSince1970,
            floats: .convertToString(positiveInfinity: "+", negativeInfinity: "-", nan: "")),
    ]

    var fast: FastJSONEncoder {
        var encoder = FastJSONEncoder()
        encoder.outputFormatting = format
        encoder.dateEncodingStrategy = dates
        encoder.dataEncodingStrategy = data
        encoder.nonConformingFloatEncodingStrategy = floats
        encoder.keyEncodingStrategy = keys
        encoder.userInfo[JSONTestKey.userInfo] = name
        return encoder
    }

    var foundation: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = format
        encoder.dateEncodingStrategy = dates
        encoder.dataEncodingStrategy = data
        encoder.nonConformingFloatEncodingStrategy = floats
        encoder.keyEncodingStrategy = keys
        encoder.userInfo[JSONTestKey.userInfo] = name
        return encoder
    }

    /// Returns the difference between the encoders for a value, or `nil` if they agree.
    func difference(_ value: some Encodable) -> String? {
        let (fast, foundation) = (fast, foundation)
        let isUnordered = (value as? JSONTree)?.isUnordered == true
        let left = outcome(isUnordered) { try fast.encode(value) }
        let right = outcome(isUnordered) { try foundation.encode(value) }
        return left == right ? nil : "\(name): \(JSONOutcome.difference(left, right))"
    }

    /// Returns the text with sorted members, because JSONEncoder writes them in any order, or the description of the
    /// error.
    private func outcome(_ isUnordered: Bool, _ encode: () throws -> Data) -> String {
        do {
            let text = try encode()
            return format.contains(.sortedKeys)
                ? String(decoding: text, as: UTF8.self)
                : JSONMembers.sorted(text)
        } catch  where isUnordered {
            return "an error"
        } catch EncodingError.invalidValue(let value, let context) {
            let path = context.codingPath.map { "\($0.stringValue)(\($0.intValue.map(String.init) ?? ""))" }
            return "invalid \(type(of: value)) at \(path) \(context.debugDescription) \(context.underlyingError as Any)"
        } catch {
            return "\(error)"
        }
    }
}

/// Sorts the members of all objects in a text, and changes no other byte.
struct JSONMembers {
    private let text: [UInt8]
    private var at = 0

    static func sorted(_ text: Data) -> String {
        guard text.contains(UInt8(ascii: "{")) else { return String(decoding: text, as: UTF8.self) }
        var members = JSONMembers(text: Array(text))
        let sorted = members.value()
        let rest = members.text[members.at...]
        return String(decoding: sorted + rest, as: UTF8.self)
    }

    private mutating func value() -> [UInt8] {
        guard at < text.count else { return [] }
        switch text[at] {
        case UInt8(ascii: "{"): return list(UInt8(ascii: "}"), sorts: true)
        case UInt8(ascii: "["): return list(UInt8(ascii: "]"), sorts: false)
        case UInt8(ascii: "\""): return string()
        case _:
            let start = at
            while at < text.count, !",]}\n:".utf8.contains(text[at]) { at += 1 }
            return Array(text[start..<at])
        }
    }

    private mutating func string() -> [UInt8] {
        let start = at
        at += 1
        while at < text.count, text[at] != UInt8(ascii: "\"") { at += text[at] == UInt8(ascii: "\\") ? 2 : 1 }
        at += 1
        return Array(text[start..<min(at, text.count)])
    }

    private mutating func spaces() -> [UInt8] {
        let start = at
        while at < text.count, text[at] == 0x20 || text[at] == 0x0a { at += 1 }
        return Array(text[start..<at])
    }

    private mutating func list(_ close: UInt8, sorts: Bool) -> [UInt8] {
        var result = [text[at]]
        at += 1
        var items: [[UInt8]] = []
        var last: [UInt8] = []
        while at < text.count {
            var item = spaces()
            if at < text.count, text[at] == close {
                last = item
                break
            }
            if sorts {
                item += string()
                while at < text.count, text[at] == 0x20 || text[at] == UInt8(ascii: ":") {
                    item.append(text[at])
                    at += 1
                }
            }
            item += value()
            items.append(item)
            last = spaces()
            guard at < text.count, text[at] == UInt8(ascii: ",") else { break }
            at += 1
        }
        at += 1
        if sorts { items.sort { $0.lexicographicallyPrecedes($1) } }
        result += items.joined(separator: [UInt8(ascii: ",")])
        return result + last + [close]
    }
}
