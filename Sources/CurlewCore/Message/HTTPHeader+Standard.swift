internal import Foundation

extension HTTPHeader {
    /// `Accept`: the media types that are wanted.
    public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

    /// `Accept-Charset`: the charsets that are wanted.
    public static func acceptCharset(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Charset", value: value)
    }

    /// Alamofire's default value comes from the user's languages: see `qualityEncoded()`.
    public static func acceptLanguage(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Language", value: value)
    }

    /// Sent as it is; `identity` alone switches decoding off.
    public static func acceptEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Encoding", value: value)
    }

    /// Basic credentials (RFC 7617), UTF-8.
    public static func authorization(username: String, password: String) -> HTTPHeader {
        authorization("Basic " + Data("\(username):\(password)".utf8).base64EncodedString())
    }

    /// `Authorization` with a bearer token.
    public static func authorization(bearerToken: String) -> HTTPHeader { authorization("Bearer \(bearerToken)") }

    /// A complete value, scheme included.
    public static func authorization(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Authorization", value: value)
    }

    /// `Content-Disposition`: how the body is to be presented.
    public static func contentDisposition(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Disposition", value: value)
    }

    /// `Content-Encoding`: the codings of the body.
    public static func contentEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Encoding", value: value)
    }

    /// `Content-Type`: the body's media type.
    public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

    /// `User-Agent`: who asks.
    public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }

    /// `Sec-WebSocket-Protocol`: the subprotocols that are wanted.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }
}

extension Collection<String> {
    /// `["de", "en"]` → `de;q=1.0, en;q=0.9`, a tenth less for each.
    package func qualityEncoded() -> String {
        enumerated().map { index, element in
            let tenths = Swift.max(10 - index, 1)
            return "\(element);q=\(tenths / 10).\(tenths % 10)"
        }.joined(separator: ", ")
    }
}
