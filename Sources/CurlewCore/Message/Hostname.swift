package import Foundation

/// Brings host names into the form in which cookies and HSTS compare them, so that names of one host are equal.
///
/// The form is lower case, with international names in ASCII, without the final dot of the DNS root, and with IPv4
/// addresses as four decimal numbers.
package enum Hostname {
    /// Returns the canonical host of a URL; `nil` if it has none.
    package static func canonical(of url: URL) -> String? {
        // On Linux, `percentEncoded: false` returns the `xn--` form, with percent-encoded characters decoded.
        guard let host = url.host(percentEncoded: false) else { return nil }
        return canonical(host)
    }

    /// Returns the canonical form; `nil` if `host` is not a host name.
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

    /// Returns the host without the brackets of an IPv6 address.
    package static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    /// Returns the host as URLs and header fields have it, with brackets around an IPv6 address.
    package static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[") ? "[\(host)]" : host
    }

    /// Whether a host, its escapes decoded, is free of characters that would make it another host, or that would end
    /// the line in which it is written (`http://a%0Ab/`, `http://a%2Fb/`).
    package static func isUsable(_ host: String) -> Bool {
        let delimiters = delimiters
        var isPlain = !host.isEmpty
        for byte in host.utf8 { isPlain = isPlain && !delimiters.contains(byte) }
        if isPlain { return true }
        guard case .v6 = IPAddress(host) else { return false }
        return true
    }

    private static let delimiters = ByteSet(controls: true, "#%/:<>?@[\\]^|")

    /// A set of ASCII characters as a bit mask.
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

    /// Whether `host` is `domain` or a subdomain of it (RFC 6265, 5.1.3). An IP address has no subdomains.
    package static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        let (name, suffix) = (host.utf8, domain.utf8)
        guard name.count > suffix.count, !suffix.isEmpty, name.suffix(suffix.count).elementsEqual(suffix),
            name[name.index(name.endIndex, offsetBy: -suffix.count - 1)] == UInt8(ascii: ".")
        else { return false }
        return IPAddress(host) == nil
    }

    /// The maximum length of a DNS name (RFC 1035, 2.3.4).
    private static let maximumLength = 253

    /// Returns `host` and its parent domains, longest first: `a.b.c`, `b.c`, `c`. A name that is too long for DNS is
    /// returned alone: the parents of a redirect's host with a hundred thousand dots would exhaust the memory.
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
