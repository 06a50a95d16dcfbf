package import Foundation

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

/// The content of one `Set-Cookie` field, before it is checked whether the sender may set it.
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

/// The lenient date algorithm of cookies (RFC 6265bis, 5.1.1): a text with a time, a day, a month and a year in any
/// order is a date in UTC.
package enum CookieDate {
    package static func parse(_ text: String) -> Date? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = self.time(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = self.month(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 } else if (0...69).contains(year) { year += 2000 }
        let civil = CivilDate(
            year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
        guard year >= 1601, civil.isValid else { return nil }
        return civil.date
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Reads `hh:mm:ss` with one or two digits each. Text after the last digit is ignored.
    private static func time(_ token: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(ASCII.isDigit), parts[1].allSatisfy(ASCII.isDigit),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func month(_ token: Substring.UTF8View) -> Int? {
        let start = ASCII.lowercased(String(decoding: token.prefix(3), as: UTF8.self))
        return CivilDate.months.firstIndex { $0.lowercased() == start }.map { $0 + 1 }
    }

    /// Reads the digits at the start of a token. `nil` if their number is not in `digits`; the text after them is
    /// ignored.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let found = token.prefix(while: ASCII.isDigit)
        guard digits.contains(found.count) else { return nil }
        return ASCII.number(found).map(Int.init)
    }
}
