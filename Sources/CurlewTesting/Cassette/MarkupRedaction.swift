internal import CurlewCore
internal import Foundation

/// Takes the secrets out of XML and HTML, and leaves everything else byte for byte.
///
/// Secret are the text below an element with a secret name (`<password>`), the values of attributes with a secret name
/// (`token="…"`), the value beside a name (`<input name="pin" value="…">`) and the element behind one
/// (`<name>pin</name><value>…</value>`, as XML-RPC and property lists write pairs).
struct MarkupRedaction {
    /// Without the angle brackets, which would be a tag.
    static let replacement = "&lt;redacted&gt;"

    private let redaction: CassetteRedaction
    private let bytes: [UInt8]
    private var position = 0
    private var clean: [UInt8] = []
    /// The end of the element whose text is secret.
    private var secretEnd = 0
    /// The last element was a name, and the next one is its value.
    private var isNextSecret = false

    private static let naming: Set<String> = ["name", "key", "field", "property", "param", "k"]
    private static let valued: Set<String> = ["value", "content", "val", "v", "data", "text"]
    /// Elements that follow a name, in XML-RPC, SOAP and property lists.
    private static let values: Set<String> = [
        "value", "string", "integer", "real", "data", "date", "true", "false", "array", "dict",
    ]
    /// Elements of HTML that have no end tag.
    private static let void: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ]

    init(_ text: String, by redaction: CassetteRedaction) {
        self.redaction = redaction
        bytes = Array(text.utf8)
    }

    mutating func redacted() -> String {
        while position < bytes.count {
            if bytes[position] != UInt8(ascii: "<") {
                takeText()
            } else if starts("<!--") {
                take(through: "-->")
            } else if starts("<![CDATA[") {
                takeCharacterData()
            } else if starts("<!") || starts("<?") {
                take(through: ">")
            } else {
                takeTag()
            }
        }
        return String(decoding: clean, as: UTF8.self)
    }

    // MARK: Texts

    private mutating func takeText() {
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.endIndex
        write(bytes[position..<end])
        position = end
    }

    private mutating func takeCharacterData() {
        let start = position + "<![CDATA[".utf8.count
        let end = find("]]>", from: start) ?? bytes.endIndex
        clean += bytes[position..<start]
        write(bytes[start..<end])
        position = min(end + 3, bytes.endIndex)
        clean += bytes[end..<position]
    }

    private mutating func write(_ text: ArraySlice<UInt8>) {
        let isBlank = text.allSatisfy { ASCII.isBlank($0) || $0 == 0x0A || $0 == 0x0D }
        clean += position < secretEnd && !isBlank ? Array(Self.replacement.utf8) : Array(text)
    }

    private mutating func take(through mark: String) {
        let end = find(mark, from: position).map { $0 + mark.utf8.count } ?? bytes.endIndex
        clean += bytes[position..<end]
        position = end
    }

    // MARK: Tags

    private struct Attribute {
        let name: String
        /// Without its quotes.
        let value: Range<Int>
    }

    private mutating func takeTag() {
        let start = position
        guard let end = tagEnd(from: start) else {
            // A tag that was cut off may hold anything.
            clean += Array(Self.replacement.utf8)
            position = bytes.endIndex
            return
        }
        let nameStart = start + 1
        let name = nameStart..<(bytes[nameStart..<end].firstIndex { !Self.isOfName($0) } ?? end)
        let isEmpty = bytes[end - 1] == UInt8(ascii: "/") || Self.void.contains(text(name).lowercased())
        let attributes = name.isEmpty ? [] : attributes(in: name.upperBound..<end)
        // An end tag has no name here: it begins with a slash.
        guard !name.isEmpty else {
            clean += bytes[start...end]
            position = end + 1
            return
        }
        let isNamed = attributes.contains { Self.naming.contains($0.name) && isSecret(text($0.value)) }
        let local = Self.local(text(name))
        let isName = Self.naming.contains(local.lowercased()) && isFollowedByValue(text(name), from: end + 1)
        let isSecretElement = isSecret(local) && !isName || isNamed || isNextSecret
        isNextSecret = false
        var written = start
        for attribute in attributes {
            let isValue = Self.valued.contains(attribute.name)
            let isHidden = isSecret(attribute.name) || isValue && (isSecretElement || start < secretEnd)
            clean += bytes[written..<attribute.value.lowerBound]
            let value = text(attribute.value)
            if isHidden, !value.isEmpty {
                clean += Array(Self.replacement.utf8)
            } else {
                clean += Array((value.contains("://") ? redaction.url(value, keepsNameless: true) : value).utf8)
            }
            written = attribute.value.upperBound
        }
        clean += bytes[written...end]
        position = end + 1
        guard !isEmpty, start >= secretEnd else { return }
        if isSecretElement {
            secretEnd = elementEnd(text(name), from: position)
        } else if isName {
            let content = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.endIndex
            isNextSecret = isSecret(text(position..<content).trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    /// The index of the `>` that ends a tag.
    private func tagEnd(from start: Int) -> Int? {
        var quote: UInt8?
        for index in (start + 1)..<max(start + 1, bytes.count) {
            switch bytes[index] {
            case let byte where byte == quote: quote = nil
            case UInt8(ascii: "\""), UInt8(ascii: "'"): if quote == nil { quote = bytes[index] }
            case UInt8(ascii: ">"): if quote == nil { return index }
            default: break
            }
        }
        return nil
    }

    private func attributes(in range: Range<Int>) -> [Attribute] {
        var found: [Attribute] = []
        var index = range.lowerBound
        while index < range.upperBound {
            guard Self.isOfName(bytes[index]) else {
                index += 1
                continue
            }
            let name = index..<(bytes[index..<range.upperBound].firstIndex { !Self.isOfName($0) } ?? range.upperBound)
            index = afterBlanks(name.upperBound, before: range.upperBound)
            guard index < range.upperBound, bytes[index] == UInt8(ascii: "=") else { continue }
            index = afterBlanks(index + 1, before: range.upperBound)
            guard index < range.upperBound else { break }
            let quote = bytes[index]
            let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
            if isQuoted { index += 1 }
            let end = bytes[index..<range.upperBound].firstIndex { isQuoted ? $0 == quote : Self.isBlank($0) }
            found.append(
                Attribute(
                    name: Self.local(text(name)).lowercased(), value: index..<(end ?? range.upperBound)))
            index = (end ?? range.upperBound) + 1
        }
        return found
    }

    /// Returns the end of an element that was opened before `start`: its end tag, or the end of the text if it has none.
    private func elementEnd(_ name: String, from start: Int) -> Int {
        var depth = 1
        var index = start
        while let open = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            let isClosing = open + 1 < bytes.count && bytes[open + 1] == UInt8(ascii: "/")
            let first = open + (isClosing ? 2 : 1)
            let end = bytes[min(first, bytes.count)...].firstIndex { !Self.isOfName($0) } ?? bytes.endIndex
            index = max(end, open + 1)
            if let skipped = endOfSection(at: open) {
                index = skipped
                continue
            }
            guard first <= end, text(first..<end).lowercased() == name.lowercased() else { continue }
            if isClosing {
                depth -= 1
                if depth == 0 { return open }
            } else {
                // Without its end the text has no further tag. From there on, so that no byte is looked at twice.
                guard let close = tagEnd(from: open) else { return bytes.endIndex }
                if bytes[close - 1] != UInt8(ascii: "/") { depth += 1 }
                index = close + 1
            }
        }
        return bytes.endIndex
    }

    /// The end of a comment or of character data, in which no tag counts.
    private func endOfSection(at open: Int) -> Int? {
        for (begin, mark) in [("<!--", "-->"), ("<![CDATA[", "]]>")] where bytes[open...].starts(with: begin.utf8) {
            return find(mark, from: open).map { $0 + mark.utf8.count } ?? bytes.endIndex
        }
        return nil
    }

    /// Whether an element holds a name: the next one is a value.
    private func isFollowedByValue(_ name: String, from start: Int) -> Bool {
        let close = Array("</\(name)>".utf8)
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "<")), bytes[end...].starts(with: close) else {
            return false
        }
        let next = afterBlanks(end + close.count, before: bytes.endIndex)
        guard next < bytes.endIndex, bytes[next] == UInt8(ascii: "<") else { return false }
        let local = bytes[(next + 1)...].prefix { Self.isOfName($0) }
        return Self.values.contains(Self.local(String(decoding: local, as: UTF8.self)).lowercased())
    }

    // MARK: Bytes

    private func isSecret(_ name: String) -> Bool { redaction.isSecret(name) }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private func starts(_ mark: String) -> Bool { bytes[position...].starts(with: mark.utf8) }

    private func find(_ mark: String, from start: Int) -> Int? {
        guard start <= bytes.count else { return nil }
        return bytes[start...].firstRange(of: Array(mark.utf8))?.lowerBound
    }

    private func afterBlanks(_ start: Int, before end: Int) -> Int {
        bytes[start..<end].firstIndex { !Self.isBlank($0) } ?? end
    }

    /// Without a namespace's prefix.
    private static func local(_ name: String) -> String { String(name.split(separator: ":").last ?? "") }

    private static func isBlank(_ byte: UInt8) -> Bool { ASCII.isBlank(byte) || byte == 0x0A || byte == 0x0D }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || byte >= 0x80 || "-_.:".utf8.contains(byte)
    }
}
