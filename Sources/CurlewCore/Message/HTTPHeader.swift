/// One header field.
public struct HTTPHeader: Hashable, Sendable, CustomStringConvertible {
    /// The name, in the case in which it was given.
    public let name: String
    /// The value.
    public let value: String

    /// Creates a field; what cannot be sent is found when the request is made.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// `Name: value`, for people: credentials, cookies and tokens are left out. The value itself is in `value`.
    public var description: String { "\(name): \(Redaction.value(of: self))" }

    /// Whether name and value may go onto the wire: the name is a token, the value has no CR, LF, NUL.
    package var isValid: Bool { name.isHTTPToken && value.isHTTPFieldValue }
}

extension String {
    /// Whether the string is a `token` of RFC 9110, 5.6.2 (not empty).
    package var isHTTPToken: Bool {
        !utf8.isEmpty && utf8.allSatisfy { ASCII.isTokenByte($0) }
    }

    /// Whether the string may stand as a header's value: CR, LF and NUL would let it forge more headers.
    package var isHTTPFieldValue: Bool {
        utf8.allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0x00 }
    }
}
