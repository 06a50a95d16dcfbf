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
        return bytes(name[...].utf8, escape: UInt8(ascii: "%")).flatMap { String(data: $0, encoding: .utf8) }
    }

    /// Each escape byte has to be followed by two hexadecimal digits.
    private static func bytes(_ text: Substring.UTF8View, escape: UInt8) -> Data? {
        var data = Data()
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == escape else {
                data.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(ASCII.hexValue), let low = rest.popFirst().flatMap(ASCII.hexValue)
            else { return nil }
            data.append(high << 4 | low)
        }
        return data
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
            case "Q", "q": bytes(Substring(parts[3].map { $0 == "_" ? " " : $0 }).utf8, escape: UInt8(ascii: "="))
            default: nil
            }
        return data.flatMap(charset.decode)
    }
}
