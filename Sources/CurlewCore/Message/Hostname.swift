package import Foundation

/// Host names as cookies and HSTS compare them: lower case, international ones in their ASCII form.
package enum Hostname {
    /// nil where the URL has no host.
    package static func canonical(of url: URL) -> String? {
        // Despite its name, this is the form with `xn--` on Linux.
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        return host.lowercased()
    }

    /// nil for what is no host name.
    package static func canonical(_ host: String) -> String? {
        if host.utf8.allSatisfy({ $0 < 0x80 }) { return host.isEmpty ? nil : ASCII.lowercased(host) }
        guard let url = URL(string: "http://\(host)/"), let name = canonical(of: url),
            name.utf8.allSatisfy({ $0 < 0x80 })
        else { return nil }
        return name
    }

    /// Whether a host, escapes undone, has none of the characters that would make it mean another host or
    /// end the line it stands in (`http://a%0Ab/`, `http://a%2Fb/`).
    package static func isUsable(_ host: String) -> Bool {
        if case .v6 = IPAddress(host) { return true }
        return !host.isEmpty
            && host.utf8.allSatisfy { byte in
                switch byte {
                case 0...0x20, 0x7F: false
                default: !"#%/:<>?@[\\]^|".utf8.contains(byte)
                }
            }
    }

    /// RFC 6265, 5.1.3: `host` is `domain` or a name below it. An IP address has no names below.
    package static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        let (name, suffix) = (host.utf8, domain.utf8)
        guard name.count > suffix.count, !suffix.isEmpty, name.reversed().starts(with: suffix.reversed()),
            name[name.index(name.endIndex, offsetBy: -suffix.count - 1)] == UInt8(ascii: ".")
        else { return false }
        return IPAddress(host) == nil
    }

    /// `host` and each name above it, longest first: `a.b.c`, `b.c`, `c`.
    package static func withParents(_ host: String) -> [String] {
        guard IPAddress(host) == nil else { return [host] }
        var names = [host]
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if !rest.isEmpty { names.append(String(rest)) }
        }
        return names
    }
}
