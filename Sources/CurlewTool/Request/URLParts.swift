internal import Foundation

/// The parts of a URL that a request head needs.
struct URLParts: Equatable, Sendable {
    let scheme: String
    /// Host and port, without user information.
    let authority: String
    /// Path and query.
    let target: String

    init(_ url: String) {
        var rest = url[...]
        if let colon = rest.firstIndex(of: ":"), rest[colon...].hasPrefix("://") {
            scheme = String(rest[..<colon])
            rest = rest[rest.index(colon, offsetBy: 3)...]
        } else {
            scheme = ""
        }
        rest = rest.prefix { $0 != "#" }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let full = rest[..<end]
        authority = String(full.lastIndex(of: "@").map { full[full.index(after: $0)...] } ?? full)
        let tail = rest[end...]
        target = tail.hasPrefix("/") ? String(tail) : "/" + tail
    }

    /// The host and port as they are sent: an international name in its ASCII form.
    var sentAuthority: String {
        guard authority.utf8.contains(where: { $0 >= 0x80 }), let url = URL(string: "http://\(authority)/"),
            let host = url.host(percentEncoded: false)
        else { return authority }
        return host + (url.port.map { ":\($0)" } ?? "")
    }

    /// Scheme, host and port in canonical form: `ws` becomes `http`, `wss` becomes `https`, and a default port is
    /// omitted.
    var origin: String {
        let scheme = ["ws": "http", "wss": "https"][scheme.lowercased()] ?? scheme.lowercased()
        var authority = sentAuthority.lowercased()
        if let port = ["http": ":80", "https": ":443"][scheme], authority.hasSuffix(port) {
            authority.removeLast(port.count)
        }
        return "\(scheme)://\(authority)"
    }

    /// The host without port and brackets.
    var host: String {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return String(authority[authority.index(after: authority.startIndex)..<end])
        }
        return String(authority.prefix { $0 != ":" })
    }
}
