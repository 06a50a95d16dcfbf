internal import CurlewCore

/// Indents and colours JSON while it arrives, in one pass. The memory needed grows only with the depth of nesting.
///
/// The text of keys, strings and numbers is written unchanged, so order, digits and escapes are kept. From the first
/// byte that is not JSON, the rest is written unchanged too. Several documents may follow each other (NDJSON); each
/// begins on a new line.
struct PrettyJSON: Sendable {
    private enum Expectation: Sendable {
        /// A value, or `]` if the array is still empty.
        case value(mayClose: Bool)
        /// A key, or `}` if the object is still empty.
        case key(mayClose: Bool)
        case colon
        case commaOrEnd
        /// Between documents.
        case document
    }

    private enum Token: Sendable, Equatable {
        case none
        case string(isKey: Bool, escaped: Bool)
        /// A number or a word.
        case bare
    }

    private let palette: Palette
    private let indent: Int
    /// Whether line breaks and indentation are added. If not, white space is written unchanged.
    private let isFormatted: Bool
    private var containers: [UInt8] = []
    private var expectation: Expectation = .document
    private var token: Token = .none
    private var bareText: [UInt8] = []
    private var hasWritten = false
    private(set) var isPassingThrough = false

    /// Whether the input so far consists of complete documents, at least one.
    var isComplete: Bool {
        guard case .document = expectation, token == .none else { return false }
        return hasWritten && !isPassingThrough
    }

    init(palette: Palette, indent: Int = 4, isFormatted: Bool = true) {
        self.palette = palette
        self.indent = indent
        self.isFormatted = isFormatted
    }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes { take(byte, into: &out) }
    }

    /// Ends a number at the very end of the input, and the colour of a string that was cut off.
    mutating func finish(into out: inout [UInt8]) {
        switch token {
        case .bare: endBare(into: &out)
        case .string(let isKey, _): out += palette.end(isKey ? .jsonKey : .jsonString).utf8
        case .none: break
        }
    }

    private mutating func take(_ byte: UInt8, into out: inout [UInt8]) {
        if isPassingThrough { return out.append(byte) }
        switch token {
        case .string(let isKey, let escaped):
            out.append(byte)
            if escaped {
                token = .string(isKey: isKey, escaped: false)
            } else if byte == UInt8(ascii: "\\") {
                token = .string(isKey: isKey, escaped: true)
            } else if byte == UInt8(ascii: "\"") {
                out += palette.end(isKey ? .jsonKey : .jsonString).utf8
                token = .none
                if isKey { expectation = .colon } else { valueEnded() }
            }
        case .bare:
            if Self.isBare(byte) {
                bareText.append(byte)
                // No sensible number is this long.
                if bareText.count > 4096 { giveUp(into: &out) }
            } else {
                endBare(into: &out)
                take(byte, into: &out)
            }
        case .none:
            structure(byte, into: &out)
        }
    }

    private mutating func structure(_ byte: UInt8, into out: inout [UInt8]) {
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D:
            if !isFormatted { out.append(byte) }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard beginValue(into: &out) else { return giveUp(byte, into: &out) }
            out.append(byte)
            containers.append(byte)
            expectation = byte == UInt8(ascii: "{") ? .key(mayClose: true) : .value(mayClose: true)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): close(byte, into: &out)
        case UInt8(ascii: ":"):
            guard case .colon = expectation else { return giveUp(byte, into: &out) }
            out += (isFormatted ? ": " : ":").utf8
            expectation = .value(mayClose: false)
        case UInt8(ascii: ","):
            guard case .commaOrEnd = expectation, let container = containers.last else {
                return giveUp(byte, into: &out)
            }
            out.append(byte)
            newLine(into: &out)
            expectation = container == UInt8(ascii: "{") ? .key(mayClose: false) : .value(mayClose: false)
        case UInt8(ascii: "\""):
            let isKey: Bool
            if case .key(let isFirst) = expectation {
                isKey = true
                if isFirst { newLine(into: &out) }
            } else {
                isKey = false
                guard beginValue(into: &out) else { return giveUp(byte, into: &out) }
            }
            out += palette.start(isKey ? .jsonKey : .jsonString).utf8
            out.append(byte)
            token = .string(isKey: isKey, escaped: false)
        default:
            guard Self.isBare(byte), beginValue(into: &out) else { return giveUp(byte, into: &out) }
            token = .bare
            bareText = [byte]
        }
    }

    /// Writes the line break before a value. Returns false if no value is allowed here.
    private mutating func beginValue(into out: inout [UInt8]) -> Bool {
        switch expectation {
        case .value(let isFirst):
            if isFirst { newLine(into: &out) }
        case .document:
            if hasWritten, isFormatted { out.append(0x0A) }
        case .key, .colon, .commaOrEnd: return false
        }
        hasWritten = true
        return true
    }

    private mutating func close(_ byte: UInt8, into out: inout [UInt8]) {
        let opening = byte == UInt8(ascii: "}") ? UInt8(ascii: "{") : UInt8(ascii: "[")
        guard containers.last == opening else { return giveUp(byte, into: &out) }
        switch expectation {
        case .value(mayClose: true), .key(mayClose: true):
            containers.removeLast()
        case .commaOrEnd:
            containers.removeLast()
            newLine(into: &out)
        case .value, .key, .colon, .document: return giveUp(byte, into: &out)
        }
        out.append(byte)
        valueEnded()
    }

    private mutating func valueEnded() { expectation = containers.isEmpty ? .document : .commaOrEnd }

    private mutating func endBare(into out: inout [UInt8]) {
        let text = String(decoding: bareText, as: UTF8.self)
        let isWord = text == "true" || text == "false" || text == "null"
        guard isWord || (try? JSONParser.parse(bareText)) != nil else { return giveUp(into: &out) }
        out += palette(isWord ? .jsonWord : .jsonNumber, text).utf8
        token = .none
        bareText = []
        valueEnded()
    }

    private mutating func giveUp(_ byte: UInt8? = nil, into out: inout [UInt8]) {
        isPassingThrough = true
        out += bareText
        bareText = []
        token = .none
        if let byte { out.append(byte) }
    }

    private func newLine(into out: inout [UInt8]) {
        guard isFormatted else { return }
        out.append(0x0A)
        // The indentation is limited, because deep nesting would make the output quadratic.
        out += repeatElement(0x20, count: indent * min(containers.count, 64))
    }

    private static func isBare(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || ASCII.isAlpha(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: ".")
    }
}

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
        json.feed(JSONParser.sorted(document) ?? document, into: &out)
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

/// Formats JSON that is sent as text, for example as `text/plain`. Any other text is written unchanged.
///
/// The text is held back while it may still be JSON, up to 1 MiB. The first byte that cannot be part of JSON releases
/// it.
struct FoundJSON: BodyShaper {
    private static let limit = 1 << 20

    private enum State: Sendable { case undecided, collecting, plain }

    private let shaping: Shaping
    private var state = State.undecided
    private var text: [UInt8] = []
    private var probe = PrettyJSON(palette: Palette(isColored: false), isFormatted: false)

    init(shaping: Shaping) { self.shaping = shaping }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        if state == .plain {
            out += bytes
            return
        }
        let start = text.count
        text += bytes
        if state == .undecided {
            guard let first = text.first(where: { !Shaping.isSpace($0) }) else { return }
            guard Shaping.beginsJSON(first) else { return release(into: &out) }
            state = .collecting
            check(text[...])
        } else {
            check(text[start...])
        }
        if probe.isPassingThrough || text.count > Self.limit { release(into: &out) }
    }

    mutating func finish(into out: inout [UInt8]) {
        guard state != .plain else { return }
        if state == .collecting, let shaped = shaping.formattedJSON(text) {
            out += shaped
            text = []
        } else {
            release(into: &out)
        }
    }

    private mutating func check(_ piece: ArraySlice<UInt8>) {
        var ignored: [UInt8] = []
        probe.feed(piece, into: &ignored)
    }

    private mutating func release(into out: inout [UInt8]) {
        out += text
        text = []
        state = .plain
    }
}
