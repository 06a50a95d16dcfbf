package import Foundation

/// The URL reference in a `Location` header, which may contain characters that a URL cannot.
package enum RedirectLocation {
    /// Returns the absolute http or https URL that `location` means relative to `base`; `nil` if there is none.
    ///
    /// The result inherits the fragment of `base`. Credentials in a URL of another origin are removed.
    package static func resolve(_ location: String, against base: URL) -> URL? {
        let trimmed = String(decoding: ASCII.trimmingBlanks(Array(location.utf8)[...]), as: UTF8.self)
        guard let url = URL(string: escaped(trimmed), relativeTo: base)?.absoluteURL,
            let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = url.host(percentEncoded: false), Hostname.isUsable(host),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return nil }
        if parts.percentEncodedFragment == nil {
            parts.percentEncodedFragment = base.fragment(percentEncoded: true)
        }
        if !isSameOrigin(base, url) {
            parts.user = nil
            parts.password = nil
        }
        return parts.url.map(DotSegments.removed)
    }

    /// Replaces the scheme ws by http and wss by https, because a WebSocket handshake is an HTTP request.
    package static func withHTTPScheme(_ location: String) -> String {
        let reference = location.drop { $0 == " " || $0 == "\t" }
        for (scheme, ofHTTP) in [("ws:", "http:"), ("wss:", "https:")]
        where reference.prefix(scheme.count).lowercased() == scheme {
            return ofHTTP + reference.dropFirst(scheme.count)
        }
        return location
    }

    /// Whether `name` is `Location`, without regard to case.
    package static func isName(_ name: String) -> Bool {
        name.utf8.count == 8 && ASCII.equalsIgnoringCase(name, "Location")
    }

    /// Returns the field's value as text. If the bytes are not UTF-8, those above ASCII are percent-encoded, so that a
    /// server that uses another encoding gets its bytes back unchanged.
    package static func text(of bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var escaped: [UInt8] = []
        for byte in bytes { append(byte, to: &escaped, asItIs: byte < 0x80) }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func append(_ byte: UInt8, to result: inout [UInt8], asItIs: Bool) {
        if asItIs { return result.append(byte) }
        result.append(UInt8(ascii: "%"))
        result.append(ASCII.upperHexDigits[Int(byte >> 4)])
        result.append(ASCII.upperHexDigits[Int(byte & 15)])
    }

    /// Whether scheme, host and port are equal.
    package static func isSameOrigin(_ lhs: URL, _ rhs: URL) -> Bool {
        lhs.scheme?.lowercased() == rhs.scheme?.lowercased() && port(of: lhs) == port(of: rhs)
            && lhs.host(percentEncoded: true)?.lowercased() == rhs.host(percentEncoded: true)?.lowercased()
    }

    private static func port(of url: URL) -> Int? {
        url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80)
    }

    /// Escapes characters that a URL cannot contain, and leaves existing escapes alone. The authority is left to the
    /// URL parser, which encodes international names.
    private static func escaped(_ location: String) -> String {
        let bytes = Array(location.utf8)
        let authority = authorityRange(of: bytes)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            append(
                byte, to: &result, asItIs: authority.contains(index) || isAllowed(byte) || isEscape(bytes, at: index))
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the range of the authority: from the `//` at the start or after a scheme up to the path, query or
    /// fragment.
    private static func authorityRange(of bytes: [UInt8]) -> Range<Int> {
        let slash = UInt8(ascii: "/")
        var start = 0
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[..<colon].allSatisfy(isSchemeByte) {
            start = colon + 1
        }
        guard start + 1 < bytes.count, bytes[start] == slash, bytes[start + 1] == slash else { return 0..<0 }
        let first = start + 2
        let end = bytes[first...].firstIndex { [slash, UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
        return first..<(end ?? bytes.count)
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    private static func isEscape(_ bytes: [UInt8], at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "%") && index + 2 < bytes.count && ASCII.isHexDigit(bytes[index + 1])
            && ASCII.isHexDigit(bytes[index + 2])
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "%"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default:
            byte > 0x20 && byte < 0x7F
        }
    }
}
