internal import CurlewCore

/// Parses one JSON text (RFC 8259) from memory: item values, session files, the configuration. `sorted` reads a text to
/// order its keys.
struct JSONParser {
    struct Failure: Error, Equatable {
        let message: String
        /// The offset in bytes, from 0.
        let offset: Int
    }

    /// Deeper nesting is refused, because it could exhaust the stack of this recursive parser.
    static let maximumDepth = 512

    private let bytes: [UInt8]
    private let depthLimit: Int
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

    private init(bytes: [UInt8], depthLimit: Int = maximumDepth) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

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
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(let byte) where byte == UInt8(ascii: "-") || ASCII.isDigit(byte): return .number(try number())
        case .some: throw failure("expected a value")
        case nil: throw failure("expected a value, but the text ends")
        }
    }

    /// Reads an object or an array: calls `element` at each element, and reads the commas and the end.
    private mutating func list(
        until end: UInt8,
        _ element: (inout JSONParser) throws(Failure) -> Void
    ) throws(Failure) {
        depth += 1
        guard depth <= depthLimit else { throw failure("nested too deeply") }
        defer { depth -= 1 }
        position += 1
        skipSpace()
        if take(end) { return }
        repeat {
            try element(&self)
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(end) else { throw failure("expected ',' or '\(Unicode.Scalar(end))'") }
    }

    /// Reads a key and its colon. Returns the key, and its place in the text with its quotes.
    private mutating func key() throws(Failure) -> (text: String, place: Range<Int>) {
        skipSpace()
        guard current == UInt8(ascii: "\"") else { throw failure("expected a key in double quotes") }
        let start = position
        let text = try string()
        let end = position
        skipSpace()
        guard take(UInt8(ascii: ":")) else { throw failure("expected ':'") }
        return (text, start..<end)
    }

    private mutating func object() throws(Failure) -> JSONValue {
        var object = JSONObject()
        try list(until: UInt8(ascii: "}")) { (parser) throws(Failure) in
            let key = try parser.key().text
            object[key] = try parser.value()
        }
        return .object(object)
    }

    private mutating func array() throws(Failure) -> JSONValue {
        var elements: [JSONValue] = []
        try list(until: UInt8(ascii: "]")) { (parser) throws(Failure) in elements.append(try parser.value()) }
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

// MARK: Sorting

extension JSONParser {
    /// Returns the text with the members of its objects sorted by key, and without white space between tokens. Strings,
    /// numbers and words are kept as written. `nil` if the text is not one JSON value, or is nested too deeply.
    static func sorted(_ text: some Collection<UInt8>) -> [UInt8]? {
        // Each level of nesting copies its bytes once more.
        var parser = JSONParser(bytes: Array(text), depthLimit: 200)
        guard let value = try? parser.sortedValue() else { return nil }
        let rest = parser.bytes[parser.position...]
        parser.skipSpace()
        return parser.current == nil ? value + rest : nil
    }

    private mutating func sortedValue() throws(Failure) -> [UInt8] {
        skipSpace()
        switch current {
        case UInt8(ascii: "{"): return try sortedObject()
        case UInt8(ascii: "["):
            var elements: [[UInt8]] = []
            try list(until: UInt8(ascii: "]")) { (parser) throws(Failure) in elements.append(try parser.sortedValue()) }
            return Array("[".utf8) + elements.joined(separator: ",".utf8) + Array("]".utf8)
        default:
            let start = position
            _ = try value()
            return Array(bytes[start..<position])
        }
    }

    private mutating func sortedObject() throws(Failure) -> [UInt8] {
        var members: [(key: [UInt8], value: [UInt8])] = []
        try list(until: UInt8(ascii: "}")) { (parser) throws(Failure) in
            let key = try parser.key().place
            members.append((Array(parser.bytes[key]), try parser.sortedValue()))
        }
        // Members with the same key keep their order.
        let ordered = members.enumerated().sorted { left, right in
            if left.element.key == right.element.key { return left.offset < right.offset }
            return left.element.key.lexicographicallyPrecedes(right.element.key)
        }
        let pieces = ordered.map { $0.element.key + [UInt8(ascii: ":")] + $0.element.value }
        return Array("{".utf8) + pieces.joined(separator: ",".utf8) + Array("}".utf8)
    }
}
