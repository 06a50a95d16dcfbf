internal import Foundation

/// Decodes two encodings of a plain `filename` that RFC 6266 does not define, but that servers send and Chromium reads:
/// percent escapes, and the encoded words of mail (RFC 2047). Otherwise they would appear in the names of files.
enum LenientFilename {
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
