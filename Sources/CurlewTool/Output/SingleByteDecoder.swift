/// Converts ISO-8859-1 and windows-1252 to UTF-8. As in browsers, both labels mean windows-1252.
struct SingleByteDecoder: Sendable {
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
