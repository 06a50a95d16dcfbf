internal import Foundation

/// A JSON value of a corpus that can be encoded again and keeps numbers and booleans apart.
enum JSONValue: Codable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
    case data(Data)
    case date(Date)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = Self.special(try container.decode([String: JSONValue].self))
        }
    }

    private static func special(_ object: [String: JSONValue]) -> JSONValue {
        switch (object["$data_base64"], object["$epoch"]) {
        case (.string(let text), _): .data(Data(base64Encoded: text) ?? Data())
        case (_, .number(let seconds)): .date(Date(timeIntervalSince1970: seconds))
        case (_, .integer(let seconds)): .date(Date(timeIntervalSince1970: Double(seconds)))
        default: .object(object)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        }
    }

    /// The value for untyped parameters; `nil` if Alamofire's untyped parameters cannot hold it.
    var untyped: (any Sendable)? {
        switch self {
        case .null, .data, .date: return nil
        case .bool(let value): return value
        case .integer(let value): return value
        case .number(let value): return value
        case .string(let value): return value
        case .array(let value):
            let items = value.compactMap(\.untyped)
            return items.count == value.count ? items : nil
        case .object(let value):
            let items = value.compactMapValues(\.untyped)
            return items.count == value.count ? items : nil
        }
    }
}
