/// The static table (RFC 7541, appendix A). Its first field has index 1.
enum HPACKStaticTable {
    static let fields: [HPACKField] = [
        HPACKField(":authority", ""),
        HPACKField(":method", "GET"),
        HPACKField(":method", "POST"),
        HPACKField(":path", "/"),
        HPACKField(":path", "/index.html"),
        HPACKField(":scheme", "http"),
        HPACKField(":scheme", "https"),
        HPACKField(":status", "200"),
        HPACKField(":status", "204"),
        HPACKField(":status", "206"),
        HPACKField(":status", "304"),
        HPACKField(":status", "400"),
        HPACKField(":status", "404"),
        HPACKField(":status", "500"),
        HPACKField("accept-charset", ""),
        HPACKField("accept-encoding", "gzip, deflate"),
        HPACKField("accept-language", ""),
        HPACKField("accept-ranges", ""),
        HPACKField("accept", ""),
        HPACKField("access-control-allow-origin", ""),
        HPACKField("age", ""),
        HPACKField("allow", ""),
        HPACKField("authorization", ""),
        HPACKField("cache-control", ""),
        HPACKField("content-disposition", ""),
        HPACKField("content-encoding", ""),
        HPACKField("content-language", ""),
        HPACKField("content-length", ""),
        HPACKField("content-location", ""),
        HPACKField("content-range", ""),
        HPACKField("content-type", ""),
        HPACKField("cookie", ""),
        HPACKField("date", ""),
        HPACKField("etag", ""),
        HPACKField("expect", ""),
        HPACKField("expires", ""),
        HPACKField("from", ""),
        HPACKField("host", ""),
        HPACKField("if-match", ""),
        HPACKField("if-modified-since", ""),
        HPACKField("if-none-match", ""),
        HPACKField("if-range", ""),
        HPACKField("if-unmodified-since", ""),
        HPACKField("last-modified", ""),
        HPACKField("link", ""),
        HPACKField("location", ""),
        HPACKField("max-forwards", ""),
        HPACKField("proxy-authenticate", ""),
        HPACKField("proxy-authorization", ""),
        HPACKField("range", ""),
        HPACKField("referer", ""),
        HPACKField("refresh", ""),
        HPACKField("retry-after", ""),
        HPACKField("server", ""),
        HPACKField("set-cookie", ""),
        HPACKField("strict-transport-security", ""),
        HPACKField("transfer-encoding", ""),
        HPACKField("user-agent", ""),
        HPACKField("vary", ""),
        HPACKField("via", ""),
        HPACKField("www-authenticate", ""),
    ]
}

/// HPACK's Huffman code (RFC 7541, appendix B). It is canonical: the lengths of the codes determine the codes.
struct HuffmanCode {
    /// The length of each byte's code in bits, followed by that of EOS.
    private static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ]

    static let shared = HuffmanCode()

    private static let endOfString = 256
    private static let longest = 30

    /// The symbols, ordered by code length, then by value.
    private var symbols: [Int] = []
    /// For each length: the first code, the number of codes, and the index of their first symbol.
    private var rows: [(first: Int, count: Int, start: Int)] = [(0, 0, 0)]

    private init() {
        var next = 0
        for length in 1...Self.longest {
            let those = Self.lengths.indices.filter { Int(Self.lengths[$0]) == length }
            rows.append((next, those.count, symbols.count))
            symbols += those
            next = (next + those.count) << 1
        }
    }

    /// Returns the decoded text; `nil` if the bits are invalid.
    func decode(_ bytes: some Collection<UInt8>) -> [UInt8]? {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 8 / 5)
        var code = 0
        var length = 0
        for byte in bytes {
            for bit in stride(from: 7, through: 0, by: -1) {
                code = code << 1 | Int(byte >> UInt8(bit)) & 1
                length += 1
                guard length <= Self.longest else { return nil }
                let row = rows[length]
                guard code >= row.first, code - row.first < row.count else { continue }
                let symbol = symbols[row.start + code - row.first]
                guard symbol != Self.endOfString else { return nil }
                text.append(UInt8(truncatingIfNeeded: symbol))
                code = 0
                length = 0
            }
        }
        // The remaining bits must be padding: fewer than eight bits, all ones.
        return length < 8 && code == (1 << length) - 1 ? text : nil
    }
}
