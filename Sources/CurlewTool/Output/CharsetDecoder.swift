internal import CurlewCore
internal import Foundation

/// Converts text from any charset that the C library knows to UTF-8, piece by piece. Invalid bytes become U+FFFD.
struct CharsetDecoder: Sendable {
    private let singleByte: SingleByteDecoder?
    private let converter: CharsetConverter?
    /// The first bytes of a character that has not arrived completely.
    private var pending: [UInt8] = []

    /// `nil` if the text is UTF-8 already, or if the charset is unknown.
    init?(charset: String) {
        let label = charset.lowercased()
        if Self.isUTF8(label) { return nil }
        singleByte = SingleByteDecoder(charset: label)
        converter = singleByte == nil ? CharsetConverter(from: Self.name(of: label)) : nil
        if singleByte == nil, converter == nil { return nil }
    }

    static func isKnown(_ charset: String) -> Bool {
        isUTF8(charset.lowercased()) || CharsetDecoder(charset: charset) != nil
    }

    private static func isUTF8(_ label: String) -> Bool { label == "utf-8" || label == "utf8" }

    mutating func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        guard let converter else { return singleByte?.decode(bytes) ?? Array(bytes) }
        let (text, rest) = converter.convert(pending + bytes)
        pending = rest
        return text
    }

    /// Ends the text. Returns U+FFFD if it ends within a character.
    mutating func finish() -> [UInt8] {
        defer { pending = [] }
        return pending.isEmpty ? [] : CharsetConverter.replacement
    }

    /// The C library's names for labels of the web. Some denote a larger charset than the label, as browsers read it
    /// (WHATWG, Encoding).
    private static let wider = [
        "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "ms_kanji": "cp932",
        "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "gb_2312-80": "gb18030",
        "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "ksc5601": "cp949", "korean": "cp949",
        "big5": "big5-hkscs", "x-euc-jp": "euc-jp", "iso-8859-9": "cp1254", "latin5": "cp1254",
        "iso-8859-11": "cp874", "tis-620": "cp874", "x-mac-cyrillic": "mac-cyrillic",
    ]

    private static func name(of label: String) -> String {
        if let wider = wider[label] { return wider }
        return label.hasPrefix("windows-") ? "cp" + label.dropFirst("windows-".count) : label
    }
}

/// A conversion by the C library's iconv. It remembers shift states, so a converter serves only one text.
final class CharsetConverter: Sendable {
    static let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]

    /// The iconv descriptor, stored as a number because a pointer is not `Sendable`. Only one formatter has the
    /// converter, and its calls never overlap.
    private let descriptor: Int

    init?(from name: String) {
        // A server may choose the name, and iconv gives some characters a meaning, as in `//TRANSLIT`.
        let isPlain = name.utf8.allSatisfy { ASCII.isDigit($0) || ASCII.isAlpha($0) || "-_.".utf8.contains($0) }
        guard isPlain, 1...40 ~= name.utf8.count else { return nil }
        descriptor = Int(bitPattern: iconv_open("UTF-8", name))
        if descriptor == -1 { return nil }
    }

    deinit { iconv_close(iconv_t(bitPattern: descriptor)) }

    /// Returns the converted text, and the bytes of an incomplete character at the end.
    func convert(_ bytes: [UInt8]) -> (text: [UInt8], rest: [UInt8]) {
        var text: [UInt8] = []
        var source = bytes.map(CChar.init(bitPattern:))
        var offset = 0
        while offset < source.count {
            var target = [CChar](repeating: 0, count: 4096)
            let (used, made, code) = step(&source, from: offset, into: &target)
            offset += used
            text += target[..<made].lazy.map(UInt8.init(bitPattern:))
            switch code {
            case 0, E2BIG: break
            // The character may continue in the next piece. The longest ones have eight bytes, after a shift sequence.
            case EINVAL where source.count - offset <= 16: return (text, Array(bytes[offset...]))
            default:
                text += Self.replacement
                offset += 1
            }
        }
        return (text, [])
    }

    private func step(
        _ source: inout [CChar],
        from offset: Int,
        into target: inout [CChar]
    ) -> (used: Int, made: Int, code: Int32) {
        let (available, room) = (source.count - offset, target.count)
        var (left, free) = (available, room)
        var code: Int32 = 0
        source.withUnsafeMutableBufferPointer { input in
            target.withUnsafeMutableBufferPointer { output in
                var from = input.baseAddress.map { $0 + offset }
                var to = output.baseAddress
                let result = iconv(iconv_t(bitPattern: descriptor), &from, &left, &to, &free)
                code = result == -1 ? errno : 0
            }
        }
        return (available - left, room - free, code)
    }
}

/// Converts ISO-8859-1 and windows-1252 to UTF-8. As in browsers, both labels mean windows-1252.
private struct SingleByteDecoder: Sendable {
    private static let labels: Set<String> = [
        "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1", "windows-1252", "cp1252", "x-cp1252",
    ]

    init?(charset: String) {
        guard Self.labels.contains(charset) else { return nil }
    }

    func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        for byte in bytes {
            let scalar = 0x80...0x9F ~= byte ? Self.high[Int(byte - 0x80)] : UInt16(byte)
            if scalar < 0x80 {
                out.append(UInt8(scalar))
            } else if scalar < 0x800 {
                out += [0xC0 | UInt8(scalar >> 6), 0x80 | UInt8(scalar & 0x3F)]
            } else {
                out += [0xE0 | UInt8(scalar >> 12), 0x80 | UInt8(scalar >> 6 & 0x3F), 0x80 | UInt8(scalar & 0x3F)]
            }
        }
        return out
    }

    /// The code points of 0x80 to 0x9F in windows-1252 (WHATWG, Encoding).
    private static let high: [UInt16] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,
        0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x9D, 0x017E, 0x0178,
    ]
}
