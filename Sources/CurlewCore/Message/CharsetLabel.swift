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

    fileprivate init(name: String, encoding: String.Encoding?) {
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

/// The labels of the WHATWG's Encoding standard, with Foundation's encoding for each.
private enum CharsetTable {
    struct Entry {
        let label: CharsetLabel
        /// The labels in lower case, separated by blanks.
        let labels: String

        init(_ name: String, _ encoding: String.Encoding?, _ labels: String) {
            label = CharsetLabel(name: name, encoding: encoding)
            self.labels = labels
        }
    }

    /// Returns the encoding for a number of Core Foundation (CFStringEncodingExt.h), which Foundation stores in its raw
    /// value.
    private static func cf(_ number: UInt) -> String.Encoding { String.Encoding(rawValue: 0x8000_0000 | number) }

    // On Linux, Foundation's `.macOSRoman` decodes wrongly; Core Foundation's number 0 is correct.
    static let entries: [Entry] = [
        Entry(
            "UTF-8", .utf8,
            """
            unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8
            """),
        Entry("IBM866", cf(0x41B), "866 cp866 csibm866 ibm866"),
        Entry(
            "ISO-8859-2", .isoLatin2,
            """
            csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 \
            latin2
            """),
        Entry(
            "ISO-8859-3", cf(0x203),
            """
            csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 \
            latin3
            """),
        Entry(
            "ISO-8859-4", cf(0x204),
            """
            csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 \
            latin4
            """),
        Entry(
            "ISO-8859-5", cf(0x205),
            """
            csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 \
            iso_8859-5:1988
            """),
        Entry(
            "ISO-8859-6", cf(0x206),
            """
            arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 \
            iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
            """),
        Entry(
            "ISO-8859-7", cf(0x207),
            """
            csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 \
            iso_8859-7 iso_8859-7:1987 sun_eu_greek
            """),
        Entry(
            "ISO-8859-8", cf(0x208),
            """
            csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 \
            iso88598 iso_8859-8 iso_8859-8:1988 visual
            """),
        Entry("ISO-8859-8-I", cf(0x208), "csiso88598i iso-8859-8-i logical"),
        Entry("ISO-8859-10", cf(0x20A), "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6"),
        Entry("ISO-8859-13", cf(0x20D), "iso-8859-13 iso8859-13 iso885913"),
        Entry("ISO-8859-14", cf(0x20E), "iso-8859-14 iso8859-14 iso885914"),
        Entry("ISO-8859-15", cf(0x20F), "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9"),
        Entry("ISO-8859-16", cf(0x210), "iso-8859-16"),
        Entry("KOI8-R", cf(0xA02), "cskoi8r koi koi8 koi8-r koi8_r"),
        Entry("KOI8-U", cf(0xA08), "koi8-ru koi8-u"),
        Entry("macintosh", cf(0x0), "csmacintosh mac macintosh x-mac-roman"),
        Entry("windows-874", cf(0x41D), "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874"),
        Entry("windows-1250", .windowsCP1250, "cp1250 windows-1250 x-cp1250"),
        Entry("windows-1251", .windowsCP1251, "cp1251 windows-1251 x-cp1251"),
        Entry(
            "windows-1252", .windowsCP1252,
            """
            ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 \
            iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252
            """),
        Entry("windows-1253", .windowsCP1253, "cp1253 windows-1253 x-cp1253"),
        Entry(
            "windows-1254", .windowsCP1254,
            """
            cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 \
            l5 latin5 windows-1254 x-cp1254
            """),
        Entry("windows-1255", cf(0x505), "cp1255 windows-1255 x-cp1255"),
        Entry("windows-1256", cf(0x506), "cp1256 windows-1256 x-cp1256"),
        Entry("windows-1257", cf(0x507), "cp1257 windows-1257 x-cp1257"),
        Entry("windows-1258", cf(0x508), "cp1258 windows-1258 x-cp1258"),
        Entry("x-mac-cyrillic", cf(0x7), "x-mac-cyrillic x-mac-ukrainian"),
        Entry(
            "GBK", cf(0x632),
            """
            chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk
            """),
        Entry("gb18030", cf(0x632), "gb18030"),
        Entry("Big5", cf(0xA06), "big5 big5-hkscs cn-big5 csbig5 x-x-big5"),
        Entry("EUC-JP", nil, "cseucpkdfmtjapanese euc-jp x-euc-jp"),
        Entry("ISO-2022-JP", .iso2022JP, "csiso2022jp iso-2022-jp"),
        Entry("Shift_JIS", .shiftJIS, "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis"),
        Entry(
            "EUC-KR", cf(0x422),
            """
            cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 \
            ksc_5601 windows-949
            """),
        Entry(
            "replacement", nil,
            """
            csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement
            """),
        Entry("UTF-16BE", .utf16BigEndian, "unicodefffe utf-16be"),
        Entry("UTF-16LE", .utf16LittleEndian, "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le"),
        Entry("x-user-defined", nil, "x-user-defined"),
    ]
}
