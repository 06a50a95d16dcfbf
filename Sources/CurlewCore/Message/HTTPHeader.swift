/// One header field.
public struct HTTPHeader: Hashable, Sendable, CustomStringConvertible {
    /// The name, in the case in which it was written.
    public let name: String
    /// The value.
    public let value: String

    /// Creates a field. An invalid name or value is reported when the request is created.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// `Name: value` for logs, without credentials, cookies and tokens. Use `value` for the actual value.
    public var description: String { "\(name): \(Redaction.value(of: self))" }

    /// Whether the field can be sent: the name is a token, and the value contains no CR, LF or NUL.
    package var isValid: Bool { name.isHTTPToken && value.isHTTPFieldValue }
}

extension String {
    /// Whether the string is a `token` (RFC 9110, 5.6.2), which is never empty.
    package var isHTTPToken: Bool {
        !utf8.isEmpty && utf8.allSatisfy { ASCII.isTokenByte($0) }
    }

    /// Whether the string can be the value of a header field. CR, LF or NUL could add further fields.
    package var isHTTPFieldValue: Bool {
        utf8.allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0x00 }
    }
}
