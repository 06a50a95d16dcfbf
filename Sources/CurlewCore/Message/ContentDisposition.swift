/// A `Content-Disposition` header (RFC 6266).
///
///     ContentDisposition(parsing: "attachment; filename*=UTF-8''na%C3%AFve.txt").filename   // "naïve.txt"
///
/// `filename` is exactly as the server wrote it, including paths. Use `safeFilename` for a file on disk.
package struct ContentDisposition: Hashable, Sendable {
    /// The type, such as `attachment`, `inline` or `form-data`; empty if the server sent none.
    package let type: String
    /// The file name as sent, from `filename*` or else from `filename`; `nil` if there is neither.
    package let filename: String?
    /// The value of `filename` beside `filename*`.
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

    /// Creates a disposition.
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
