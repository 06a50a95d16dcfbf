/// A JSON value that keeps the order of keys and the digits of numbers.
indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as written.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The type's name in messages.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

/// A JSON object whose keys keep the order of their first appearance.
struct JSONObject: Equatable, Sendable {
    private(set) var keys: [String] = []
    private var values: [String: JSONValue] = [:]

    /// Setting an existing key keeps its position. `nil` removes the key.
    subscript(key: String) -> JSONValue? {
        get { values[key] }
        set {
            if let newValue {
                if values.updateValue(newValue, forKey: key) == nil { keys.append(key) }
            } else if values.removeValue(forKey: key) != nil {
                keys.removeAll { $0 == key }
            }
        }
    }

    var members: [(key: String, value: JSONValue)] {
        keys.compactMap { key in values[key].map { (key, $0) } }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (key, value) in elements { self[key] = value }
    }
}

extension JSONValue {
    subscript(key: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[key]
    }

    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}

/// Writes JSON on one line, with a space after colons and commas, or indented for files that people open.
enum JSONWriter {
    static func compact(_ value: JSONValue) -> String {
        var text = ""
        write(value, into: &text)
        return text
    }

    static func indented(_ value: JSONValue) -> String {
        var printer = PrettyJSON(palette: Palette(isColored: false))
        var text: [UInt8] = []
        printer.feed(compact(value).utf8, into: &text)
        printer.finish(into: &text)
        return String(decoding: text, as: UTF8.self) + "\n"
    }

    private static func write(_ value: JSONValue, into text: inout String) {
        switch value {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .number(let digits): text += digits
        case .string(let string): text += quoted(string)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                write(element, into: &text)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (index, member) in object.members.enumerated() {
                if index > 0 { text += ", " }
                text += quoted(member.key) + ": "
                write(member.value, into: &text)
            }
            text += "}"
        }
    }

    /// Returns the string in quotes. Characters beyond ASCII are not escaped, because bodies are UTF-8.
    private static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20: text += escape(scalar)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    /// Escapes the characters that a terminal would act on: DEL, the control characters of C1, and those that change
    /// the direction of text or break lines. In JSON they occur only in strings, so the document keeps its meaning.
    static func safeForTerminals(_ json: String) -> String {
        var text = ""
        for scalar in json.unicodeScalars {
            if TerminalText.isHidden(scalar.value) {
                text += escape(scalar)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let hex = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
    }
}
