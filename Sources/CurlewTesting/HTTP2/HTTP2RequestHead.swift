internal import CurlewCore

/// A request's head, validated according to RFC 9113 (8.2, 8.3). A violation ends the stream.
struct HTTP2RequestHead: Equatable {
    var method: String
    /// The path with its query, or the host and port of CONNECT.
    var target: String
    /// The fields as a handler of HTTP/1.1 expects them: `:authority` becomes `Host`, and cookies are one field.
    var headers: HTTPHeaders
    var contentLength: Int64?

    init(_ fields: [HPACKField]) throws(HTTP2Failure) {
        var special: [String: String] = [:]
        var regular: [HTTPHeader] = []
        for field in fields {
            let (name, value) = try Self.text(field)
            guard name.hasPrefix(":") else {
                regular.append(HTTPHeader(name: name, value: value))
                continue
            }
            guard regular.isEmpty else { throw .violation("\(name) behind other fields") }
            guard [":method", ":scheme", ":authority", ":path"].contains(name) else {
                throw .violation("field \(name)")
            }
            guard special.updateValue(value, forKey: name) == nil else { throw .violation("\(name) twice") }
        }
        guard let method = special[":method"], !method.isEmpty else { throw .violation("no :method") }
        self.method = method
        if method == "CONNECT" {
            guard let authority = special[":authority"], special[":path"] == nil, special[":scheme"] == nil else {
                throw .violation("CONNECT with the wrong fields")
            }
            target = authority
        } else {
            guard let path = special[":path"], !path.isEmpty, special[":scheme"] != nil else {
                throw .violation("no :path or no :scheme")
            }
            target = path
        }
        contentLength = try Self.length(regular)
        headers = Self.merged(regular, host: special[":authority"])
    }

    /// Validates the fields after a body.
    static func trailers(_ fields: [HPACKField]) throws(HTTP2Failure) -> HTTPHeaders {
        var trailers: [HTTPHeader] = []
        for field in fields {
            let (name, value) = try text(field)
            guard !name.hasPrefix(":") else { throw .violation("\(name) in trailers") }
            trailers.append(HTTPHeader(name: name, value: value))
        }
        return HTTPHeaders(received: trailers)
    }

    private static func text(_ field: HPACKField) throws(HTTP2Failure) -> (name: String, value: String) {
        let rest = field.name.first == UInt8(ascii: ":") ? field.name.dropFirst() : field.name[...]
        let isName = rest.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ":")
                && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        }
        let name = String(decoding: field.name, as: UTF8.self)
        guard isName, !rest.isEmpty else { throw .violation("the field name '\(name)'") }
        let isValue = field.value.allSatisfy { $0 != 0 && $0 != 0x0A && $0 != 0x0D }
        let ends = [field.value.first, field.value.last]
        guard isValue, !ends.contains(0x20), !ends.contains(0x09) else { throw .violation("the value of '\(name)'") }
        let value = String(decoding: field.value, as: UTF8.self)
        switch name {
        case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
            throw .violation("the field '\(name)'")
        case "te" where value != "trailers":
            throw .violation("te: \(value)")
        default:
            return (name, value)
        }
    }

    private static func length(_ fields: [HTTPHeader]) throws(HTTP2Failure) -> Int64? {
        var length: Int64?
        for field in fields where field.name == "content-length" {
            let isNumber = field.value.utf8.allSatisfy(ASCII.isDigit)
            guard isNumber, let found = Int64(field.value), length == nil || length == found else {
                throw .violation("content-length: \(field.value)")
            }
            length = found
        }
        return length
    }

    private static func merged(_ fields: [HTTPHeader], host: String?) -> HTTPHeaders {
        var headers: [HTTPHeader] = []
        if let host, !fields.contains(where: { $0.name == "host" }) {
            headers.append(HTTPHeader(name: "host", value: host))
        }
        // Clients send one field for each cookie, which compresses better (RFC 9113, 8.2.3).
        let cookies = fields.filter { $0.name == "cookie" }.map(\.value)
        var hasCookie = false
        for field in fields {
            guard field.name == "cookie" else {
                headers.append(field)
                continue
            }
            if !hasCookie { headers.append(HTTPHeader(name: "cookie", value: cookies.joined(separator: "; "))) }
            hasCookie = true
        }
        return HTTPHeaders(received: headers)
    }
}
