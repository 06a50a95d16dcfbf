package import Foundation

/// A character encoding as the WHATWG's Encoding standard knows it: found by any of its labels.
///
///     CharsetLabel("latin1")?.name       // "windows-1252": what browsers read under that label
///     CharsetLabel("sjis")?.encoding     // String.Encoding.shiftJIS
package struct CharsetLabel: Hashable, Sendable {
    /// The standard's name of the encoding.
    package let name: String
    /// Foundation's encoding; nil where Foundation on Linux cannot decode it (EUC-JP, `x-user-defined`,
    /// `replacement`).
    package let encoding: String.Encoding?

    /// The encoding that a label stands for, case and surrounding whitespace aside; nil for an unknown one.
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

    /// The text that `data` is in this encoding, without a byte order mark; nil where it is none.
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
        // The standard maps windows-1252's five unassigned bytes to the C1 controls; Foundation gives up.
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

    /// ASCII whitespace of the Infra standard.
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
