package import Foundation

/// Host names as cookies and HSTS compare them: lower case, international ones in their ASCII form, without the dot of
/// the DNS root at the end, and IPv4 addresses as four decimal numbers. Names that lead to one host are one name.
package enum Hostname {
    /// nil where the URL has no host.
    package static func canonical(of url: URL) -> String? {
        // Despite its name, this is the form with `xn--` on Linux. Characters that were percent-encoded come as they are.
        guard let host = url.host(percentEncoded: false) else { return nil }
        return canonical(host)
    }

    /// nil for what is no host name.
    package static func canonical(_ host: String) -> String? {
        var name = host
        if !host.utf8.allSatisfy({ $0 < 0x80 }) {
            guard let url = URL(string: "http://\(host)/"), let ascii = url.host(percentEncoded: false),
                ascii.utf8.allSatisfy({ $0 < 0x80 })
            else { return nil }
            name = ascii
        }
        if name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
        guard !name.isEmpty else { return nil }
        if let address = IPAddress.quad(ofNumbers: name) { return address }
        return ASCII.lowercased(name)
    }

    /// Whether a host, escapes undone, has none of the characters that would make it mean another host or
    /// end the line it stands in (`http://a%0Ab/`, `http://a%2Fb/`).
    package static func isUsable(_ host: String) -> Bool {
        let delimiters = delimiters
        var isPlain = !host.isEmpty
        for byte in host.utf8 { isPlain = isPlain && !delimiters.contains(byte) }
        if isPlain { return true }
        guard case .v6 = IPAddress(host) else { return false }
        return true
    }

    /// Whether a URL's host has to be looked at: before its path is something that may hide a delimiter in the host, or
    /// credentials. Few have, and taking a URL apart costs more than this.
    package static func mayBeUnusable(in url: String) -> Bool {
        var url = url
        return url.withUTF8 { !hasPlainHost($0) }
    }

    /// Whether there are but a scheme, two slashes, a name or an address of four numbers, and perhaps a port, up to the
    /// path, the query, the fragment or the end.
    private static func hasPlainHost(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count, isPlain(bytes[index]) { index += 1 }
        for byte in "://".utf8 {
            guard index < bytes.count, bytes[index] == byte else { return false }
            index += 1
        }
        while index < bytes.count, isPlain(bytes[index]) { index += 1 }
        if index < bytes.count, bytes[index] == UInt8(ascii: ":") {
            index += 1
            while index < bytes.count, ASCII.isDigit(bytes[index]) { index += 1 }
        }
        guard index < bytes.count else { return true }
        return switch bytes[index] {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): true
        default: false
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }

    private static let delimiters = ByteSet(controls: true, "#%/:<>?@[\\]^|")

    /// A set of ASCII characters: every request's host is looked at, byte by byte.
    private struct ByteSet: Sendable {
        private let low: UInt64
        private let high: UInt64

        init(controls: Bool, _ characters: StaticString) {
            var (low, high): (UInt64, UInt64) = controls ? (0x1_FFFF_FFFF, 1 << 63) : (0, 0)
            characters.withUTF8Buffer { characters in
                for byte in characters {
                    if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
                }
            }
            (self.low, self.high) = (low, high)
        }

        func contains(_ byte: UInt8) -> Bool {
            byte < 0x80 && (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 != 0
        }
    }

    /// RFC 6265, 5.1.3: `host` is `domain` or a name below it. An IP address has no names below.
    package static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        let (name, suffix) = (host.utf8, domain.utf8)
        guard name.count > suffix.count, !suffix.isEmpty, name.suffix(suffix.count).elementsEqual(suffix),
            name[name.index(name.endIndex, offsetBy: -suffix.count - 1)] == UInt8(ascii: ".")
        else { return false }
        return IPAddress(host) == nil
    }

    /// Longest name that DNS has (RFC 1035, 2.3.4).
    private static let maximumLength = 253

    /// `host` and each name above it, longest first: `a.b.c`, `b.c`, `c`. One that is too long to exist has
    /// none: a redirect's host of a hundred thousand dots would fill the memory.
    package static func withParents(_ host: String) -> [String] {
        guard host.utf8.count <= maximumLength, IPAddress(host) == nil else { return [host] }
        var names = [host]
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if !rest.isEmpty { names.append(String(rest)) }
        }
        return names
    }
}
