/// A field as HPACK carries it: bytes, as a table's size counts them.
struct HPACKField: Hashable {
    var name: [UInt8]
    var value: [UInt8]

    init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    init(_ name: String, _ value: String) { self.init(Array(name.utf8), Array(value.utf8)) }

    /// What it counts for in a table and in a list of fields (RFC 7541, 4.1).
    var size: Int { name.count + value.count + 32 }
}

/// The fields that both sides know from the start (RFC 7541, appendix A). The first has the index 1.
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
