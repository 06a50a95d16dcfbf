internal import Foundation

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
        var bytes = Array("UTF-8''".utf8)
        for byte in text.utf8 {
            if isAttributeByte(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(ASCII.upperHexDigits[Int(byte >> 4)])
                bytes.append(ASCII.upperHexDigits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
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
