/// Sorts the keys of JSON objects. Each document is held back until it is complete; several may follow each other
/// (NDJSON). From a document that exceeds the limit, keys are not sorted.
struct SortedJSON: BodyShaper {
    private static let limit = 16 << 20

    private var json: PrettyJSON
    private var document: [UInt8] = []
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var isPassingThrough = false

    init(_ json: PrettyJSON) { self.json = json }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes {
            if isPassingThrough {
                json.feed(CollectionOfOne(byte), into: &out)
                continue
            }
            document.append(byte)
            if endsDocument(byte) {
                endDocument(into: &out)
            } else if document.count > Self.limit {
                isPassingThrough = true
                json.feed(document, into: &out)
                document = []
            }
        }
    }

    mutating func finish(into out: inout [UInt8]) {
        endDocument(into: &out)
        json.finish(into: &out)
    }

    private mutating func endDocument(into out: inout [UInt8]) {
        json.feed(JSONSorting.sorted(document) ?? document, into: &out)
        document = []
        (depth, isInString, isEscaped) = (0, false, false)
    }

    private mutating func endsDocument(_ byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            depth -= 1
            return depth <= 0
        // A number, word or string outside a container ends with its line.
        case 0x0A: return depth == 0
        default: break
        }
        return false
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
