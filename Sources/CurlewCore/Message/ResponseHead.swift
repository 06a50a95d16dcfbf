/// The status line and header fields of a response, exactly as received.
public struct ResponseHead: Sendable, Equatable {
    /// The status code.
    public var status: Int
    /// The reason phrase; empty with HTTP/2 and later.
    public var reason: String
    /// The version in the status line.
    public var version: HTTPVersion
    /// The fields in the order received, including repeated ones.
    public var headers: HTTPHeaders

    /// Creates a head.
    public init(status: Int, reason: String = "", version: HTTPVersion = .http1_1, headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.version = version
        self.headers = headers
    }

    /// Removes `Content-Encoding`, and corrects an existing `Content-Length`, because the body was replaced. With `nil`,
    /// the length of the new body is not known.
    package mutating func describeNewBody(length: Int?) {
        headers.remove(name: "Content-Encoding")
        guard headers.contains(name: "Content-Length") else { return }
        headers["Content-Length"] = length.map(String.init)
    }
}

/// The HTTP version of a response.
public enum HTTPVersion: String, Hashable, Sendable, CustomStringConvertible {
    /// HTTP/1.0.
    case http1_0 = "HTTP/1.0"
    /// HTTP/1.1.
    case http1_1 = "HTTP/1.1"
    /// HTTP/2.
    case http2 = "HTTP/2"
    /// HTTP/3.
    case http3 = "HTTP/3"

    public var description: String { rawValue }
}

/// A status code with its meaning and its registered reason phrase.
///
///     HTTPStatus(404).reasonPhrase   // "Not Found"
package struct HTTPStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package init(_ code: Int) { rawValue = code }

    /// Whether a response with this status never has a body (RFC 9110, 6.4.1), whatever the method.
    package var hasNoBody: Bool {
        switch rawValue {
        case 100...199, 204, 304: true
        default: false
        }
    }

    /// Whether the status redirects to the URL in `Location`.
    package var isRedirect: Bool {
        switch rawValue {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The registered phrase; empty if there is none.
    package var reasonPhrase: String { Self.phrases[rawValue] ?? "" }

    private static let phrases: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked",
        424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required",
        429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
        507: "Insufficient Storage", 508: "Loop Detected", 511: "Network Authentication Required",
    ]
}

/// Checks that the `Content-Length` fields of a response define its framing (RFC 9112, 6.3).
package enum ContentLength {
    /// Returns the reason why the fields cannot be followed; `nil` if they can.
    ///
    /// A list that repeats one number counts as that number. libcurl uses the last of several lengths, reads a number
    /// up to the first byte that is not a digit, and ignores a number that is too large. In each case the body would
    /// not end at the byte that its sender meant.
    package static func problem(in fields: [HTTPHeader]) -> String? {
        var known: Int64?
        for field in fields where field.name.utf8.count == 14 && ASCII.equalsIgnoringCase(field.name, "Content-Length")
        {
            for part in field.value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let text = part.drop(while: ASCII.isBlank)
                let digits = text.prefix(while: ASCII.isDigit)
                guard !digits.isEmpty, text[digits.endIndex...].allSatisfy(ASCII.isBlank) else {
                    return "Content-Length is not a number"
                }
                guard let length = ASCII.number(digits) else { return "Content-Length is above 64 bits" }
                if let known, known != length { return "there are two different Content-Length fields" }
                known = length
            }
        }
        return nil
    }
}
