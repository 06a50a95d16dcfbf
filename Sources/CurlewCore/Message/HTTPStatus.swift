/// A status code, with the class it belongs to and the phrase that the registry gives it.
///
///     HTTPStatus(404).reasonPhrase   // "Not Found"
package struct HTTPStatus: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Makes a status of its number.
    package init(_ code: Int) { rawValue = code }

    /// The five classes of RFC 9110, 15.
    package enum Kind: Sendable, Hashable {
        /// 1xx: the answer is still to come.
        case informational
        /// 2xx.
        case successful
        /// 3xx: it is somewhere else.
        case redirection
        /// 4xx: the request was wrong.
        case clientError
        /// 5xx: the server failed.
        case serverError
    }

    /// nil for a code outside 100...599.
    package var kind: Kind? {
        switch rawValue {
        case 100...199: .informational
        case 200...299: .successful
        case 300...399: .redirection
        case 400...499: .clientError
        case 500...599: .serverError
        default: nil
        }
    }

    /// Whether it is one of 200 to 299.
    package var isSuccess: Bool { kind == .successful }

    /// Whether a response with it never has a body (RFC 9110, 6.4.1), whatever the method was.
    package var hasNoBody: Bool { kind == .informational || rawValue == 204 || rawValue == 304 }

    /// Whether it tells the client to look elsewhere, by `Location`.
    package var isRedirect: Bool {
        switch rawValue {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The registered phrase; empty where there is none.
    package var reasonPhrase: String { Self.phrases[rawValue] ?? "" }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    package var description: String {
        let phrase = reasonPhrase
        return phrase.isEmpty ? String(rawValue) : "\(rawValue) \(phrase)"
    }

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
