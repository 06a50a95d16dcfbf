internal import Foundation

extension HTTPHeader {
    /// `Accept`: the acceptable media types.
    public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

    /// `Authorization` with Basic credentials (RFC 7617) in UTF-8.
    public static func authorization(username: String, password: String) -> HTTPHeader {
        authorization("Basic " + Data("\(username):\(password)".utf8).base64EncodedString())
    }

    /// `Authorization` with a bearer token.
    public static func authorization(bearerToken: String) -> HTTPHeader { authorization("Bearer \(bearerToken)") }

    /// `Authorization` with a complete value, including the scheme.
    public static func authorization(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Authorization", value: value)
    }

    /// `Content-Type`: the body's media type.
    public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

    /// `User-Agent`: the name of the client.
    public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }
}

extension Collection<String> {
    /// Joins the elements with falling qualities: `["de", "en"]` becomes `de;q=1.0, en;q=0.9`. The lowest quality is
    /// 0.1.
    package func qualityEncoded() -> String {
        enumerated().map { index, element in
            let tenths = Swift.max(10 - index, 1)
            return "\(element);q=\(tenths / 10).\(tenths % 10)"
        }.joined(separator: ", ")
    }
}
