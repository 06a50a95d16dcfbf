internal import Foundation

/// Undoes two encodings of a plain `filename` that RFC 6266 does not have, but servers send and Chromium reads: percent
/// escapes, and the encoded words of mail (RFC 2047). Without this they would be seen in the names of files.
enum LenientFilename {
    /// The name as its sender meant it. A name in which anything is malformed stays as it is.
    static func decode(_ name: String) -> String {
        if name.hasPrefix("=?") { return encodedWords(name) ?? name }
        return percentDecoded(name) ?? name
    }

    /// `nil` unless the name is ASCII, each `%` of it begins an escape, and the bytes are UTF-8.
    private static func percentDecoded(_ name: String) -> String? {
        guard name.utf8.contains(UInt8(ascii: "%")), name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return ByteScanner.unescaped(name.utf8).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// `=?charset?B?…?=` or `=?charset?Q?…?=`, several of them with blanks in between.
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
