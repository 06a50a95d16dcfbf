package import Foundation

/// The content of one `Set-Cookie` field, before the checks of what the sender may set.
package struct SetCookie: Sendable, Equatable {
    package var name = ""
    package var value = ""
    /// `nil` if there is neither `Max-Age` nor a valid `Expires`.
    package var lifetime: SetCookieLifetime?
    /// The domain without its leading dot; `nil` or empty for the host alone.
    package var domain: String?
    /// The path; `nil` without a `Path` attribute, empty if its value is unusable.
    package var path: String?
    package var isSecure = false
    package var isHTTPOnly = false
    package var sameSite: Cookie.SameSite?
}

package enum SetCookieLifetime: Sendable, Equatable {
    case seconds(Int64)
    case until(Date)
}

/// The parsing algorithm of RFC 6265bis, 5.6.
package enum SetCookieParser {
    /// The most bytes of name and value together.
    package static let maximumPairLength = 4096
    /// The most bytes of an attribute's value. Attributes with longer values are ignored.
    static let maximumAttributeLength = 1024

    /// Parses a field value. `nil` if the field must be ignored as a whole.
    package static func parse(_ header: String) -> SetCookie? {
        let bytes = Array(header.utf8)
        guard !bytes.contains(where: isControl) else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard let pair = parts.first else { return nil }

        var cookie = SetCookie()
        let (name, value) = split(pair)
        if let value {
            cookie.name = text(name)
            cookie.value = text(value)
        } else {
            cookie.value = text(name)
        }
        let length = cookie.name.utf8.count + cookie.value.utf8.count
        guard length > 0, length <= maximumPairLength else { return nil }
        var maxAge: Int64?
        var expires: Date?
        for part in parts.dropFirst() {
            let (name, value) = split(part)
            let argument = value ?? []
            guard argument.count <= maximumAttributeLength else { continue }
            switch ASCII.lowercased(text(name)) {
            case "expires": expires = CookieDate.parse(text(argument)) ?? expires
            case "max-age": maxAge = seconds(argument) ?? maxAge
            case "domain":
                // A single dot is kept and matches no host; an empty value means the host itself.
                let hasDot = argument.count > 1 && argument.first == UInt8(ascii: ".")
                cookie.domain = text(hasDot ? argument.dropFirst() : argument)
            case "path": cookie.path = argument.first == UInt8(ascii: "/") ? text(argument) : ""
            case "secure": cookie.isSecure = true
            case "httponly": cookie.isHTTPOnly = true
            case "samesite": cookie.sameSite = Cookie.SameSite(rawValue: ASCII.lowercased(text(argument)))
            default: break
            }
        }
        cookie.lifetime = maxAge.map(SetCookieLifetime.seconds) ?? expires.map(SetCookieLifetime.until)
        return cookie
    }

    /// Whether a byte is a control character other than TAB.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    private static func split(_ part: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>?) {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (ASCII.trimmingBlanks(part), nil) }
        return (ASCII.trimmingBlanks(part[..<equals]), ASCII.trimmingBlanks(part[(equals + 1)...]))
    }

    /// Reads digits after an optional minus. Negative numbers become 0, too large ones `.max`.
    private static func seconds(_ bytes: ArraySlice<UInt8>) -> Int64? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative ? bytes.dropFirst() : bytes
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        return isNegative ? 0 : ASCII.number(digits) ?? .max
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
