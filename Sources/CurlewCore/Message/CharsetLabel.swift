package import Foundation

/// A character encoding of the WHATWG's Encoding standard, found by any of its labels.
///
///     CharsetLabel("latin1")?.name       // "windows-1252": what browsers read under that label
///     CharsetLabel("sjis")?.encoding     // String.Encoding.shiftJIS
package struct CharsetLabel: Hashable, Sendable {
    /// The name of the encoding in the standard.
    package let name: String
    /// The encoding in Foundation; `nil` if Foundation on Linux cannot decode it (EUC-JP, `x-user-defined`,
    /// `replacement`).
    package let encoding: String.Encoding?

    /// Finds the encoding for a label, ignoring case and surrounding whitespace; `nil` if the label is unknown.
    package init?(_ label: String) {
        let trimmed = label.unicodeScalars.drop(while: Self.isWhitespace)
        guard let end = trimmed.lastIndex(where: { !Self.isWhitespace($0) }) else { return nil }
        let key = ASCII.lowercased(String(trimmed[...end]))
        guard let index = Self.index[key] else { return nil }
        self = CharsetTable.entries[index].label
    }

    init(name: String, encoding: String.Encoding?) {
        self.name = name
        self.encoding = encoding
    }

    /// Decodes `data` and removes a byte order mark; `nil` if the bytes are invalid in this encoding.
    package func decode(_ data: Data) -> String? {
        guard let encoding else { return nil }
        if encoding == .utf8 {
            let start = data.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
            return String(data: data.dropFirst(start), encoding: .utf8)
        }
        if encoding == .utf16LittleEndian || encoding == .utf16BigEndian {
            let mark: [UInt8] = encoding == .utf16LittleEndian ? [0xFF, 0xFE] : [0xFE, 0xFF]
            return String(data: data.dropFirst(data.starts(with: mark) ? 2 : 0), encoding: encoding)
        }
        if let text = String(data: data, encoding: encoding) { return text }
        // The standard maps the five unassigned bytes of windows-1252 to C1 controls; Foundation fails to decode them.
        return encoding == .windowsCP1252 ? Self.windows1252(data) : nil
    }

    private static func windows1252(_ data: Data) -> String {
        var text = String.UnicodeScalarView()
        for byte in data {
            let decoded = byte & 0xE0 == 0x80 ? String(data: Data([byte]), encoding: .windowsCP1252) : nil
            text.append(decoded?.unicodeScalars.first ?? Unicode.Scalar(byte))
        }
        return String(text)
    }

    /// Whether a scalar is ASCII whitespace as the Infra standard defines it.
    private static func isWhitespace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0C, 0x0D, 0x20: true
        default: false
        }
    }

    private static let index: [String: Int] = {
        var index: [String: Int] = [:]
        for (position, entry) in CharsetTable.entries.enumerated() {
            for label in entry.labels.split(separator: " ") { index[String(label)] = position }
        }
        return index
    }()
}
