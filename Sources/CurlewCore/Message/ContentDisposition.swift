internal import Foundation

/// A `Content-Disposition` header (RFC 6266).
///
///     ContentDisposition(parsing: "attachment; filename*=UTF-8''na%C3%AFve.txt").filename   // "naïve.txt"
///
/// `filename` is decoded, but otherwise as the server wrote it, including paths. Use `safeFilename` for a file on disk.
package struct ContentDisposition: Hashable, Sendable {
    /// The type, such as `attachment`, `inline` or `form-data`; empty if the server sent none.
    package let type: String
    /// The decoded file name, from `filename*` or else from `filename`; `nil` if there is neither.
    package let filename: String?
    /// The value of `filename` that is written beside `filename*`.
    private let fallback: Fallback

    /// The file name for recipients that do not know `filename*`, if the name is not ASCII.
    package enum Fallback: Hashable, Sendable {
        /// The name with `?` in place of characters that are not ASCII.
        case automatic
        /// No `filename` beside `filename*`.
        case none
        /// This text.
        case text(String)
    }

    package init(type: String = "attachment", filename: String? = nil, fallback: Fallback = .automatic) {
        self.type = type
        self.filename = filename
        self.fallback = fallback
    }

    /// Parses a header leniently: invalid parts are left out.
    package init(parsing header: String) {
        var scanner = ByteScanner(header)
        var type: String?
        var plain: String?
        var extended: String?
        while !scanner.isAtEnd {
            let part = Self.part(&scanner)
            if type == nil, part.value == nil { type = part.name }
            type = type ?? ""
            guard let value = part.value else { continue }
            switch part.name {
            case "filename": plain = plain ?? LenientFilename.decode(value)
            // An extended value is never quoted (RFC 8187, 3.2.1).
            case "filename*" where !part.isQuoted: extended = extended ?? ExtendedValue.decode(value)?.value
            default: break
            }
        }
        self.init(type: type ?? "", filename: [extended, plain].lazy.compactMap(Self.usable).first)
    }

    /// Reads one part up to a semicolon: `name`, `name=value` or `name="value"`, with the name in lower case.
    private static func part(_ scanner: inout ByteScanner) -> (name: String, value: String?, isQuoted: Bool) {
        let semicolon = UInt8(ascii: ";")
        let name = ASCII.trimmingBlanks(scanner.take { $0 != semicolon && $0 != UInt8(ascii: "=") })
        var value: [UInt8]?
        var isQuoted = false
        if scanner.skip("=") {
            scanner.skip(while: ASCII.isBlank)
            isQuoted = scanner.peek == UInt8(ascii: "\"")
            if isQuoted { value = scanner.quotedString().value }
            let rest = scanner.take { $0 != semicolon }
            value = value ?? Array(ASCII.trimmingBlanks(rest))
        }
        _ = scanner.skip(";")
        return (
            ASCII.lowercased(String(decoding: name, as: UTF8.self)),
            value.map { String(decoding: $0, as: UTF8.self) },
            isQuoted
        )
    }

    /// Removes line ends, which remain from folded headers. `nil` if nothing is left, or if the name contains NUL,
    /// which would end it early in a C function.
    private static func usable(_ name: String?) -> String? {
        guard let name else { return nil }
        let unfolded = String(name.unicodeScalars.filter { $0 != "\r" && $0 != "\n" })
        return unfolded.isEmpty || unfolded.unicodeScalars.contains("\0") ? nil : unfolded
    }
}

extension ContentDisposition {
    /// The header's value. No file name can end the header or begin another parameter.
    package var headerValue: String {
        let type = type.isHTTPToken ? type : "attachment"
        guard let filename else { return type }
        let needsExtended =
            !Self.isPrintableASCII(filename) || Self.hasEscape(filename) || filename.hasPrefix("=?")
        switch fallback {
        case .none where needsExtended:
            return "\(type); filename*=\(ExtendedValue.encode(filename))"
        case .text(let fallback) where fallback != filename:
            let plain = Self.quoted(Self.printableASCII(fallback))
            return "\(type); filename=\(plain); filename*=\(ExtendedValue.encode(filename))"
        case .automatic, .none, .text:
            let plain = "\(type); filename=\(Self.quoted(Self.printableASCII(filename)))"
            return needsExtended ? plain + "; filename*=\(ExtendedValue.encode(filename))" : plain
        }
    }

    private static func isPrintableASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } }

    /// Whether a name contains percent escapes. Some recipients, Curlew included, decode them even in a plain
    /// `filename`.
    private static func hasEscape(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.indices.dropLast(2).contains {
            bytes[$0] == UInt8(ascii: "%") && ASCII.isHexDigit(bytes[$0 + 1]) && ASCII.isHexDigit(bytes[$0 + 2])
        }
    }

    private static func printableASCII(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value >= 0x20 && $0.value < 0x7F ? $0 : "?" }))
    }

    private static func quoted(_ text: String) -> String {
        if text.isHTTPToken { return text }
        let escaped = text.utf8.flatMap { byte -> [UInt8] in
            byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), byte] : [byte]
        }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }
}

extension ContentDisposition {
    /// The file name as a single path component that is harmless on disk; `nil` if nothing remains of it.
    package var safeFilename: String? { filename.flatMap(SafeFilename.make) }
}

/// Makes a harmless path component from a name that a server chose.
package enum SafeFilename {
    /// NAME_MAX of Linux's file systems.
    private static let maximumLength = 255

    /// Returns the last part between slashes or backslashes that is more than dots; `nil` if nothing remains of it.
    ///
    /// Control characters are removed, and so are those that reverse the direction of the text, which disguise an
    /// extension (`exe.txt` spelled backwards). Dots and blanks are removed from both ends, so that the file is not
    /// hidden. A name above `maximumLength` is shortened.
    package static func make(_ name: String) -> String? {
        let parts = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }
        guard let last = parts.last(where: { !isOnlyDots($0) }) else { return nil }
        var kept = Substring.UnicodeScalarView(String.UnicodeScalarView(last.filter(isHarmless)))
        while let first = kept.first, isDotOrBlank(first) { kept.removeFirst() }
        trimEnd(&kept)
        return kept.isEmpty ? nil : shortened(String(kept))
    }

    private static func isDotOrBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    private static func trimEnd(_ text: inout Substring.UnicodeScalarView) {
        while let last = text.last, isDotOrBlank(last) { text.removeLast() }
    }

    private static func isOnlyDots(_ part: Substring.UnicodeScalarView) -> Bool {
        part.allSatisfy(isDotOrBlank)
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
        default: true
        }
    }

    /// Shortens the part in front of the extension. It cuts between characters if it can: a single character may have
    /// more combining marks than a name may have bytes.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumLength else { return name }
        var stem = name[...]
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 32 {
            ending = String(name[dot...])
            stem = name[..<dot]
        }
        let room = maximumLength - ending.utf8.count
        // Much longer names are cut at once, because the loop below removes one character at a time.
        if stem.utf8.count > 8 * maximumLength { stem = Substring(stem.unicodeScalars.prefix(4 * maximumLength)) }
        var cut = stem
        while cut.utf8.count > room { cut.removeLast() }
        var kept = (cut.isEmpty ? stem : cut).unicodeScalars
        while String(kept).utf8.count > room { kept.removeLast() }
        if ending.isEmpty { trimEnd(&kept) }
        return String(kept) + ending
    }
}

/// Decodes two encodings of a plain `filename` that RFC 6266 does not define, but that servers send and Chromium reads:
/// percent escapes, and the encoded words of mail (RFC 2047). Otherwise the escapes would appear in names of files.
private enum LenientFilename {
    /// Returns the decoded name. A name with a malformed part is returned unchanged.
    static func decode(_ name: String) -> String {
        if name.hasPrefix("=?") { return encodedWords(name) ?? name }
        return percentDecoded(name) ?? name
    }

    /// Decodes percent escapes; `nil` unless the name is ASCII, every `%` begins an escape, and the bytes are UTF-8.
    private static func percentDecoded(_ name: String) -> String? {
        guard name.utf8.contains(UInt8(ascii: "%")), name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return ByteScanner.unescaped(name.utf8).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Decodes `=?charset?B?…?=` or `=?charset?Q?…?=`, or several of them separated by blanks; `nil` if one is
    /// malformed.
    private static func encodedWords(_ name: String) -> String? {
        var text = ""
        for word in name.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            guard let decoded = encodedWord(word) else { return nil }
            text += decoded
        }
        return text
    }

    private static func encodedWord(_ word: Substring) -> String? {
        let parts = word.split(separator: "?", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "=", parts[4] == "=",
            // RFC 2231, 5 appends a language to the charset.
            let charset = CharsetLabel(String(parts[1].prefix { $0 != "*" }))
        else { return nil }
        let data: Data? =
            switch parts[2] {
            case "B", "b": Data(base64Encoded: String(parts[3]))
            case "Q", "q":
                ByteScanner.unescaped(
                    parts[3].utf8.lazy.map { $0 == UInt8(ascii: "_") ? 0x20 : $0 }, escape: UInt8(ascii: "=")
                ).map { Data($0) }
            default: nil
            }
        return data.flatMap(charset.decode)
    }
}

/// Encodes and decodes extended parameter values (RFC 8187): `UTF-8'en'na%C3%AFve`.
package enum ExtendedValue {
    /// Returns the text and its language tag; `nil` if the value is malformed, its charset unknown, or its bytes
    /// invalid in that charset.
    package static func decode(_ value: String) -> (value: String, language: String)? {
        let parts = value.utf8.split(
            separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let charset = CharsetLabel(String(decoding: parts[0], as: UTF8.self)),
            let language = String(parts[1]), let bytes = percentDecoded(parts[2]),
            let text = charset.decode(Data(bytes))
        else { return nil }
        return (text, language)
    }

    /// Encodes a text in UTF-8, without a language.
    package static func encode(_ text: String) -> String {
        "UTF-8''" + ASCII.percentEncoded(text.utf8, keeping: isAttributeByte)
    }

    /// Decodes percent escapes. All visible ASCII but the double quote is accepted unescaped, because servers leave
    /// parentheses and similar characters unescaped.
    private static func percentDecoded(_ text: Substring.UTF8View) -> [UInt8]? {
        ByteScanner.unescaped(text) { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    }

    /// Whether a byte is an `attr-char`.
    private static func isAttributeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "*"), UInt8(ascii: "'"), UInt8(ascii: "%"): false
        default: ASCII.isTokenByte(byte)
        }
    }
}
