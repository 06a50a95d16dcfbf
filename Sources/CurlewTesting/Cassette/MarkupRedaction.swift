internal import CurlewCore
internal import Foundation

/// Removes secrets from XML and HTML, and keeps everything else byte for byte.
///
/// The secrets are the text in an element with a secret name (`<password>`), the values of attributes with a secret
/// name (`token="…"`), the value next to a name (`<input name="pin" value="…">`) and the element after one
/// (`<name>pin</name><value>…</value>`, the notation of XML-RPC and property lists). Scripts and comments are kept.
struct MarkupRedaction {
    /// Escaped, because angle brackets would form a tag.
    static let replacement = "&lt;redacted&gt;"

    private let redaction: CassetteRedaction
    private let bytes: [UInt8]
    /// The index of the `>` of the last `-->`, or 0.
    private let lastCommentEnd: Int
    private var position = 0
    private var clean: [UInt8] = []
    /// The end of the element whose text is secret.
    private var secretEnd = 0
    /// Whether the last element held a secret name, so that the next one is its value.
    private var isNextSecret = false
    /// The index of each start tag's end tag.
    private lazy var endTags = findEndTags()

    /// Attributes that hold a URL, which may be relative.
    private static let links: Set<String> = ["href", "src", "action", "url"]
    /// Elements that hold the value after a name, in XML-RPC, SOAP and property lists.
    private static let values: Set<String> = [
        "value", "string", "integer", "real", "data", "date", "true", "false", "array", "dict",
    ]
    /// HTML elements without an end tag.
    private static let void: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ]

    init(_ text: String, by redaction: CassetteRedaction) {
        self.redaction = redaction
        bytes = Array(text.utf8)
        let bytes = bytes
        let end = bytes.indices.last {
            bytes[$0] == UInt8(ascii: ">") && bytes[..<$0].suffix(2).elementsEqual("--".utf8)
        }
        lastCommentEnd = end ?? 0
    }

    mutating func redacted() -> String {
        while position < bytes.count {
            if !isMarkup(at: position) {
                takeText()
            } else if starts("<![CDATA[") {
                takeCharacterData()
            } else if let end = endOfSection(at: position) {
                clean += bytes[position..<end]
                position = end
            } else {
                takeTag()
            }
        }
        return String(decoding: clean, as: UTF8.self)
    }

    // MARK: Texts

    private mutating func takeText() {
        var end = position + 1
        while end < bytes.count, !isMarkup(at: end) { end += 1 }
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
        let isBlank = text.allSatisfy(CassetteRedaction.isSpace)
        clean += position < secretEnd && !isBlank ? Array(Self.replacement.utf8) : Array(text)
    }

    // MARK: Tags

    private struct Attribute {
        let name: String
        /// The range of the value without quotes.
        let value: Range<Int>
    }

    private mutating func takeTag() {
        let start = position
        guard let (attributes, end) = tag(from: start) else {
            // A truncated tag may contain anything.
            clean += Array(Self.replacement.utf8)
            position = bytes.endIndex
            return
        }
        let name = nameRange(from: start + 1)
        let isEmpty = isEmptyElement(attributes, end: end)
        // For an end tag, `name` is empty, because a slash precedes the name.
        guard !name.isEmpty else {
            clean += bytes[start...end]
            position = end + 1
            return
        }
        let isNamed = attributes.contains { CassetteRedaction.naming.contains($0.name) && isSecret(text($0.value)) }
        let local = Self.local(text(name))
        let content = CassetteRedaction.naming.contains(local.lowercased()) ? self.content(from: end + 1) : nil
        let isName = content.map { isFollowedByValue(text(name), from: $0.end) } ?? false
        let isSecretElement = isSecret(local) && !isName || isNamed || isNextSecret
        isNextSecret = false
        var written = start
        for attribute in attributes {
            let isValue = CassetteRedaction.valued.contains(attribute.name)
            let isHidden = isSecret(attribute.name) || isValue && (isSecretElement || start < secretEnd)
            clean += bytes[written..<attribute.value.lowerBound]
            let value = text(attribute.value)
            if isHidden, !value.isEmpty {
                clean += Array(Self.replacement.utf8)
            } else {
                let kept = withoutSecrets(value, in: attribute.name)
                // The replacement in a URL has angle brackets, which would end a value without quotes; the whole value
                // is replaced.
                let isQuoted = Self.isQuote(bytes[attribute.value.lowerBound - 1])
                clean += Array((kept == value || isQuoted ? kept : Self.replacement).utf8)
            }
            written = attribute.value.upperBound
        }
        clean += bytes[written...end]
        position = end + 1
        guard !isEmpty, start >= secretEnd else { return }
        if isSecretElement {
            // In XML, elements with these names may have end tags.
            let isVoid = Self.void.contains(text(name).lowercased())
            secretEnd = endTags[start] ?? (isVoid ? position : bytes.endIndex)
        } else if isName, let content {
            isNextSecret = isSecret(content.text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    /// Whether a tag that ends at `end` is self-closing. A slash at the end of an unquoted value belongs to the value.
    private func isEmptyElement(_ attributes: [Attribute], end: Int) -> Bool {
        bytes[end - 1] == UInt8(ascii: "/") && attributes.last?.value.upperBound != end
    }

    private func withoutSecrets(_ value: String, in attribute: String) -> String {
        Self.links.contains(attribute)
            ? redaction.url(value, keepsNameless: true) : redaction.references(value, keepsNameless: true)
    }

    /// Returns the attributes of a tag and the index of its closing `>`. A quote counts only at the start of a value.
    private func tag(from start: Int) -> (attributes: [Attribute], end: Int)? {
        var found: [Attribute] = []
        var index = nameRange(from: start + 1).upperBound
        while index < bytes.count, bytes[index] != UInt8(ascii: ">") {
            let name = nameRange(from: index)
            index = max(afterBlanks(name.upperBound), index + 1)
            guard !name.isEmpty, index < bytes.count, bytes[index] == UInt8(ascii: "=") else { continue }
            index = afterBlanks(index + 1)
            guard index < bytes.count else { return nil }
            let quote = bytes[index]
            let isQuoted = Self.isQuote(quote)
            if isQuoted { index += 1 }
            let end = bytes[index...].firstIndex {
                isQuoted ? $0 == quote : CassetteRedaction.isSpace($0) || $0 == UInt8(ascii: ">")
            }
            guard let end else { return nil }
            found.append(Attribute(name: Self.local(text(name)).lowercased(), value: index..<end))
            index = isQuoted ? end + 1 : end
        }
        return index < bytes.count ? (found, index) : nil
    }

    /// Returns the index of each start tag's end tag, without the start tags that have none. Ignores text in attributes
    /// that looks like an end tag.
    private func findEndTags() -> [Int: Int] {
        var ends: [Int: Int] = [:]
        var unclosed: [String: [Int]] = [:]
        var index = 0
        while let open = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            guard isMarkup(at: open) else {
                index = open + 1
                continue
            }
            if let skipped = endOfSection(at: open) {
                index = skipped
                continue
            }
            // A truncated tag is the last one.
            guard let (attributes, close) = tag(from: open) else { break }
            index = close + 1
            let isClosing = bytes[open + 1] == UInt8(ascii: "/")
            let name = text(nameRange(from: open + (isClosing ? 2 : 1))).lowercased()
            if isClosing {
                if let start = unclosed[name]?.popLast() { ends[start] = open }
            } else if !isEmptyElement(attributes, end: close) {
                unclosed[name, default: []].append(open)
            }
        }
        return ends
    }

    /// Whether a tag, a comment or a section begins here; `a < b` is text. A `<` at the end of the text is a truncated
    /// tag.
    private func isMarkup(at index: Int) -> Bool {
        guard bytes[index] == UInt8(ascii: "<") else { return false }
        guard index + 1 < bytes.count else { return true }
        switch bytes[index + 1] {
        case UInt8(ascii: "!"), UInt8(ascii: "?"): return true
        case UInt8(ascii: "/"): return index + 2 == bytes.count || Self.beginsName(bytes[index + 2])
        case let byte: return Self.beginsName(byte)
        }
    }

    /// Returns the end of a comment, of character data, of a declaration or of an instruction, in which tags are
    /// ignored; `nil` for a tag.
    private func endOfSection(at open: Int) -> Int? {
        for (begin, mark) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">")]
        where bytes[open...].starts(with: begin.utf8) {
            // A `<!--` without an end is not a comment: a script may contain it in a string.
            if begin == "<!--", open >= lastCommentEnd { return open + begin.utf8.count }
            return find(mark, from: open).map { $0 + mark.utf8.count } ?? bytes.endIndex
        }
        return nil
    }

    /// Returns the text up to the next tag, including character data, without comments.
    private func content(from start: Int) -> (text: String, end: Int) {
        var content: [UInt8] = []
        var index = start
        while index < bytes.count {
            if bytes[index] != UInt8(ascii: "<") {
                content.append(bytes[index])
                index += 1
            } else if let end = endOfSection(at: index) {
                let mark = "<![CDATA[".utf8
                if bytes[index...].starts(with: mark) {
                    content += bytes[index..<end].dropFirst(mark.count).dropLast(3)
                }
                index = end
            } else {
                break
            }
        }
        return (String(decoding: content, as: UTF8.self), index)
    }

    /// Whether `end` is at the end tag of the element that holds a name, and the next element is a value.
    private func isFollowedByValue(_ name: String, from end: Int) -> Bool {
        let close = Array("</\(name)".utf8)
        guard bytes[end...].starts(with: close) else { return false }
        let bracket = afterBlanks(end + close.count)
        guard bracket < bytes.endIndex, bytes[bracket] == UInt8(ascii: ">") else { return false }
        var next = afterBlanks(bracket + 1)
        while next < bytes.endIndex, let end = endOfSection(at: next) { next = afterBlanks(end) }
        guard next < bytes.endIndex, bytes[next] == UInt8(ascii: "<") else { return false }
        return Self.values.contains(Self.local(text(nameRange(from: next + 1))).lowercased())
    }

    // MARK: Bytes

    private func isSecret(_ name: String) -> Bool { redaction.isSecret(name) }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private func starts(_ mark: String) -> Bool { bytes[position...].starts(with: mark.utf8) }

    private func find(_ mark: String, from start: Int) -> Int? {
        guard start <= bytes.count else { return nil }
        return bytes[start...].firstRange(of: Array(mark.utf8))?.lowerBound
    }

    private func afterBlanks(_ start: Int) -> Int {
        bytes[start...].firstIndex { !CassetteRedaction.isSpace($0) } ?? bytes.endIndex
    }

    /// Returns the range of the name at an index; empty if there is none.
    private func nameRange(from start: Int) -> Range<Int> {
        start..<(bytes[start...].firstIndex { !Self.isOfName($0) } ?? bytes.endIndex)
    }

    /// Returns a name without its namespace prefix.
    private static func local(_ name: String) -> String { String(name.split(separator: ":").last ?? "") }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func beginsName(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || byte >= 0x80 || "_:".utf8.contains(byte)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        beginsName(byte) || ASCII.isDigit(byte) || "-.".utf8.contains(byte)
    }
}
