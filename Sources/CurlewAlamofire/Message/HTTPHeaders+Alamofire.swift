public import Curlew

// Alamofire's further names of fields. The core's way is `HTTPHeader(name:value:)`.
extension HTTPHeader {
    /// `Accept-Charset`: the acceptable charsets.
    public static func acceptCharset(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Charset", value: value)
    }

    /// `Accept-Language`: the preferred languages.
    public static func acceptLanguage(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Language", value: value)
    }

    /// `Accept-Encoding`: the acceptable content codings. The value `identity` turns off decoding.
    public static func acceptEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Encoding", value: value)
    }

    /// `Content-Disposition`: how to present the body.
    public static func contentDisposition(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Disposition", value: value)
    }

    /// `Content-Encoding`: the codings of the body.
    public static func contentEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Encoding", value: value)
    }

    /// `Sec-WebSocket-Protocol`: the requested subprotocols.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }

    /// `br;q=1.0, gzip;q=0.9, deflate;q=0.8`
    public static let defaultAcceptEncoding = HTTPHeader.usualAcceptEncoding

    /// The user's first six languages, from the environment (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`) or else from
    /// Foundation. The first has the quality 1.0, each further one 0.1 less.
    public static let defaultAcceptLanguage = HTTPHeader.usualAcceptLanguage

    /// `<executable>/<version> (<bundle>; build:<build>; Linux 6.1.0) Curlew/<version>`. Unknown parts are left out: a
    /// program without an information property list has no version, bundle or build.
    public static let defaultUserAgent = HTTPHeader.usualUserAgent
}

extension HTTPHeaders {
    /// Replaces the first field of this name and removes the others; appends the field if there is none. `add` does the
    /// same.
    public mutating func update(name: String, value: String) { add(name: name, value: value) }

    /// Replaces the first field of this name and removes the others; appends the field if there is none. `add` does the
    /// same.
    public mutating func update(_ header: HTTPHeader) { add(header) }

    /// Sorts the fields by name.
    public mutating func sort() { self = sorted() }

    /// Returns the fields sorted by name.
    public func sorted() -> HTTPHeaders { sortedByName() }
}
