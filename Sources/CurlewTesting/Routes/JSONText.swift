internal import Foundation

/// A JSON value whose objects keep the order of their members.
indirect enum JSONText: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONText])
    case object([(String, JSONText)])

    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .number(String(value)) }

    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ": " + $1.text }.joined(separator: ", ") + "}"
        }
    }

    /// Returns an object with the pairs' names as members; a repeated name gets an array of its values.
    static func merged(_ pairs: [(String, String)]) -> JSONText {
        var order: [String] = []
        var values: [String: [String]] = [:]
        for (name, value) in pairs {
            if values[name] == nil { order.append(name) }
            values[name, default: []].append(value)
        }
        return .object(
            order.map { name in
                let all = values[name, default: []].map { JSONText.string($0) }
                return (name, all.count == 1 ? all[0] : .array(all))
            }
        )
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}

extension TestServer.Response {
    static func json(_ value: JSONText, status: Int = 200) -> Self {
        .text(value.text + "\n", status: status, type: "application/json")
    }
}
