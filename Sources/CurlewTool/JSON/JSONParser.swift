internal import CurlewCore

/// Parses one JSON text (RFC 8259) from memory: item values, session files, the configuration.
struct JSONParser {
    struct Failure: Error, Equatable {
        let message: String
        /// The offset in bytes, from 0.
        let offset: Int
    }

    /// Deeper nesting is refused, because it could exhaust the stack of this recursive parser.
    static let maximumDepth = 512

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    static func parse(_ text: String) throws(Failure) -> JSONValue { try parse(Array(text.utf8)) }

    static func parse(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        var parser = JSONParser(bytes: bytes)
        let value = try parser.value()
        parser.skipSpace()
        guard parser.current == nil else { throw parser.failure("unexpected text after the value") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func failure(_ message: String) -> Failure { Failure(message: message, offset: position) }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(Failure) -> JSONValue {
        skipSpace()
        switch current {
        case UInt8(ascii: "{"): return try nested { (parser) throws(Failure) in try parser.object() }
        case UInt8(ascii: "["): return try nested { (parser) throws(Failure) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(let byte) where byte == UInt8(ascii: "-") || ASCII.isDigit(byte): return .number(try number())
        case .some: throw failure("expected a value")
        case nil: throw failure("expected a value, but the text ends")
        }
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONValue {
        depth += 1
        guard depth <= Self.maximumDepth else { throw failure("nested too deeply") }
        let value = try body(&self)
        depth -= 1
        return value
    }

    private mutating func object() throws(Failure) -> JSONValue {
        position += 1
        var object = JSONObject()
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(object) }
        repeat {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw failure("expected a key in double quotes") }
            let key = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw failure("expected ':'") }
            object[key] = try value()
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw failure("expected ',' or '}'") }
        return .object(object)
    }

    private mutating func array() throws(Failure) -> JSONValue {
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            elements.append(try value())
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw failure("expected ',' or ']'") }
        return .array(elements)
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue {
        let text = word.description.utf8
        guard bytes[position...].starts(with: text) else { throw failure("expected a value") }
        position += text.count
        return value
    }

    private mutating func digits() throws(Failure) {
        guard let first = current, ASCII.isDigit(first) else { throw failure("expected a digit") }
        while let byte = current, ASCII.isDigit(byte) { position += 1 }
    }

    private mutating func number() throws(Failure) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func string() throws(Failure) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw failure("not UTF-8") }
                return string
            case UInt8(ascii: "\\"):
                try escape(into: &text)
            case 0..<0x20:
                position -= 1
                throw failure("a control character in a string must be escaped")
            default:
                text.append(byte)
            }
        }
        throw failure("the string does not end")
    }

    private mutating func escape(into text: inout [UInt8]) throws(Failure) {
        guard let byte = current else { throw failure("the string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var code = try hexUnit()
            if 0xD800...0xDBFF ~= code, bytes[position...].starts(with: "\\u".utf8) {
                let start = position
                position += 2
                let low = try hexUnit()
                if 0xDC00...0xDFFF ~= low {
                    code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
                } else {
                    position = start
                }
            }
            let scalar = Unicode.Scalar(code) ?? "\u{FFFD}"
            text += Array(String(Character(scalar)).utf8)
        default:
            position -= 1
            throw failure("unknown escape")
        }
    }

    private mutating func hexUnit() throws(Failure) -> UInt32 {
        let end = min(position + 4, bytes.count)
        let digits = String(decoding: bytes[position..<end], as: UTF8.self)
        guard digits.utf8.count == 4, digits.first != "+", digits.first != "-", let code = UInt32(digits, radix: 16)
        else {
            throw failure("expected four hexadecimal digits")
        }
        position = end
        return code
    }
}

/// Sorts the members of objects by key, and removes white space between tokens. Strings, numbers and words are kept as
/// written.
enum JSONSorting {
    /// A document with deeper nesting is not sorted, because it could exhaust the stack.
    private static let maximumDepth = 200

    /// Returns the sorted text. `nil` if the text is not one JSON value, or is nested too deeply.
    static func sorted(_ text: some Collection<UInt8>) -> [UInt8]? {
        let bytes = Array(text)
        var position = 0
        guard let value = value(bytes, &position, depth: 0) else { return nil }
        let rest = bytes[position...]
        guard rest.allSatisfy(Shaping.isSpace) else { return nil }
        return value + rest
    }

    private static func value(_ bytes: [UInt8], _ position: inout Int, depth: Int) -> [UInt8]? {
        skipSpace(bytes, &position)
        guard position < bytes.count, depth < maximumDepth else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"): return object(bytes, &position, depth: depth)
        case UInt8(ascii: "["): return array(bytes, &position, depth: depth)
        case UInt8(ascii: "\""): return string(bytes, &position)
        default:
            let start = position
            while position < bytes.count, !",]}:".utf8.contains(bytes[position]), !Shaping.isSpace(bytes[position]) {
                position += 1
            }
            return position > start ? Array(bytes[start..<position]) : nil
        }
    }

    private static func object(_ bytes: [UInt8], _ position: inout Int, depth: Int) -> [UInt8]? {
        position += 1
        var members: [(key: [UInt8], value: [UInt8])] = []
        if ends(bytes, &position, with: UInt8(ascii: "}")) { return Array("{}".utf8) }
        while true {
            skipSpace(bytes, &position)
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\""),
                let key = string(bytes, &position), ends(bytes, &position, with: UInt8(ascii: ":")),
                let value = value(bytes, &position, depth: depth + 1)
            else { return nil }
            members.append((key, value))
            if ends(bytes, &position, with: UInt8(ascii: "}")) { break }
            guard ends(bytes, &position, with: UInt8(ascii: ",")) else { return nil }
        }
        // Members with the same key keep their order.
        let ordered = members.enumerated().sorted { left, right in
            if left.element.key == right.element.key { return left.offset < right.offset }
            return left.element.key.lexicographicallyPrecedes(right.element.key)
        }
        let pieces = ordered.map { $0.element.key + [UInt8(ascii: ":")] + $0.element.value }
        return Array("{".utf8) + Array(pieces.joined(separator: ",".utf8)) + Array("}".utf8)
    }

    private static func array(_ bytes: [UInt8], _ position: inout Int, depth: Int) -> [UInt8]? {
        position += 1
        var elements: [[UInt8]] = []
        if ends(bytes, &position, with: UInt8(ascii: "]")) { return Array("[]".utf8) }
        while true {
            guard let element = value(bytes, &position, depth: depth + 1) else { return nil }
            elements.append(element)
            if ends(bytes, &position, with: UInt8(ascii: "]")) { break }
            guard ends(bytes, &position, with: UInt8(ascii: ",")) else { return nil }
        }
        return Array("[".utf8) + Array(elements.joined(separator: ",".utf8)) + Array("]".utf8)
    }

    private static func string(_ bytes: [UInt8], _ position: inout Int) -> [UInt8]? {
        let start = position
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < bytes.count else { return nil }
        position += 1
        return Array(bytes[start..<position])
    }

    /// Skips white space and consumes the byte if it is next.
    private static func ends(_ bytes: [UInt8], _ position: inout Int, with byte: UInt8) -> Bool {
        skipSpace(bytes, &position)
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private static func skipSpace(_ bytes: [UInt8], _ position: inout Int) {
        while position < bytes.count, Shaping.isSpace(bytes[position]) { position += 1 }
    }
}
