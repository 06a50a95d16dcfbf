/// A field in HPACK, as bytes, because table sizes count bytes.
struct HPACKField: Hashable {
    var name: [UInt8]
    var value: [UInt8]

    init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    init(_ name: String, _ value: String) { self.init(Array(name.utf8), Array(value.utf8)) }

    /// The size that the field counts as in tables and header lists (RFC 7541, 4.1).
    var size: Int { name.count + value.count + 32 }
}

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
