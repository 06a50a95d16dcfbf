internal import CurlewCore
internal import Foundation

/// Completes a typed URL: `example.org`, `:8080/x`, `/x`, `localhost/x y`, `://pasted.example`.
enum TargetURL {
    static func resolve(
        _ text: String,
        defaultScheme: String = "http",
        query: [(name: String, value: String)] = [],
        keepsPath: Bool = false
    ) throws(UsageError) -> String {
        var url = try withScheme(text, defaultScheme)
        var fragment = ""
        if let mark = url.firstIndex(of: "#") {
            fragment = String(url[mark...])
            url = String(url[..<mark])
        }
        var typedQuery = ""
        if let mark = url.firstIndex(of: "?") {
            typedQuery = String(url[url.index(after: mark)...])
            url = String(url[..<mark])
        }
        let added = query.map { "\(formEncoded($0.name))=\(formEncoded($0.value))" }.joined(separator: "&")
        let allQuery = [typedQuery, added].filter { !$0.isEmpty }.joined(separator: "&")
        let (origin, path) = split(url)
        try checkPort(of: origin, in: text)
        let finalPath = keepsPath ? path : withoutDotSegments(path)
        let result =
            origin + (finalPath.isEmpty ? "/" : finalPath) + (allQuery.isEmpty ? "" : "?" + allQuery) + fragment
        // The host is not encoded: the library converts international names.
        let encoded = origin + percentEncoded(String(result.dropFirst(origin.count)))
        guard let parsed = URL(string: encoded), parsed.host?.isEmpty == false else {
            throw UsageError("'\(text)' is not a URL")
        }
        return encoded
    }

    private static let schemes = ["http", "https", "ws", "wss"]

    /// Returns the URL's scheme, or the default one if the URL has none that curlew speaks.
    static func scheme(of text: String, default standard: String) -> String {
        guard let separator = text.range(of: "://") else { return standard }
        let written = text[..<separator.lowerBound].lowercased()
        return schemes.contains(written) ? written : standard
    }

    private static func withScheme(_ text: String, _ scheme: String) throws(UsageError) -> String {
        guard !text.isEmpty else { throw UsageError("the URL is empty") }
        if let separator = text.range(of: "://") {
            let written = text[..<separator.lowerBound].lowercased()
            let rest = withHost(text[separator.upperBound...])
            if written.isEmpty { return "\(scheme)://\(rest)" }
            if schemes.contains(written) { return "\(written)://\(rest)" }
            if written.utf8.allSatisfy({ ASCII.isAlpha($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) }) {
                throw UsageError(
                    "'\(written)' is not a scheme that curlew speaks", hint: "It speaks http, https, ws and wss.")
            }
        }
        try checkScheme(text)
        if text.hasPrefix("/") { return "\(scheme)://localhost\(text)" }
        guard text.hasPrefix(":"), !text.hasPrefix("::") else { return "\(scheme)://\(text)" }
        // `:`, `:8080`, `:/path`, `:8080/path`
        let rest = text.dropFirst()
        let port = rest.prefix { $0.isASCII && $0.isWholeNumber }
        let tail = rest.dropFirst(port.count)
        guard tail.isEmpty || tail.hasPrefix("/") || tail.hasPrefix("?") else {
            throw UsageError("'\(text)' is not a URL", hint: "':8080/path' means http://localhost:8080/path.")
        }
        return "\(scheme)://localhost" + (port.isEmpty ? "" : ":\(port)") + tail
    }

    /// Adds `localhost` if the text begins with a port.
    private static func withHost(_ rest: Substring) -> String {
        guard rest.first == ":", rest.dropFirst().first?.isWholeNumber == true else { return String(rest) }
        return "localhost\(rest)"
    }

    /// Refuses a scheme whose colon or slash is missing, because it would be read as a host.
    private static func checkScheme(_ text: String) throws(UsageError) {
        let lowered = text.lowercased()
        for scheme in ["https", "http", "wss", "ws"] where lowered.hasPrefix(scheme) {
            let tail = text.dropFirst(scheme.count)
            let rest = tail.drop { $0 == ":" || $0 == "/" }
            let mark = tail.prefix(tail.count - rest.count)
            // In `http:8080`, `http` is a host name.
            guard mark == ":/" || mark == "//" || mark == ":", rest.first?.isWholeNumber == false || mark != ":" else {
                continue
            }
            throw UsageError("'\(text)' is not a URL", hint: "Did you mean '\(scheme)://\(rest)'?")
        }
    }

    private static func checkPort(of origin: String, in text: String) throws(UsageError) {
        let authority = URLParts(origin).authority
        guard let colon = authority.lastIndex(of: ":"), authority[colon...].last != "]" else { return }
        let port = authority[authority.index(after: colon)...]
        guard !port.isEmpty, !port.contains("]") else { return }
        if let number = Int(port), 1...65535 ~= number { return }
        throw UsageError("'\(text)': '\(port)' is not a port", hint: "A port is a number from 1 to 65535.")
    }

    private static func split(_ url: String) -> (origin: String, path: String) {
        guard let separator = url.range(of: "://"), let slash = url[separator.upperBound...].firstIndex(of: "/") else {
            return (url, "")
        }
        return (String(url[..<slash]), String(url[slash...]))
    }

    /// Percent-encodes the bytes that are not allowed in a URL. Existing escapes are kept.
    static func percentEncoded(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            switch byte {
            case 0...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
                UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
                out += percent(byte)
            default:
                out.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return out
    }

    /// Encodes as `application/x-www-form-urlencoded`: letters, digits and `-._~` are kept, a space becomes `+`.
    static func formEncoded(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            switch byte {
            case 0x20: out += "+"
            case _ where ASCII.isDigit(byte) || ASCII.isAlpha(byte) || "-._~".utf8.contains(byte):
                out.unicodeScalars.append(Unicode.Scalar(byte))
            default: out += percent(byte)
            }
        }
        return out
    }

    private static func percent(_ byte: UInt8) -> String {
        let hex = String(byte, radix: 16, uppercase: true)
        return hex.utf8.count == 1 ? "%0" + hex : "%" + hex
    }

    /// Removes dot segments (RFC 3986, 5.2.4).
    private static func withoutDotSegments(_ path: String) -> String {
        guard path.contains("/.") else { return path }
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (offset, segment) in segments.enumerated() {
            let isLast = offset == segments.count - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default:
                kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}

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

/// What a word after the first URL of `--download` is, by its form: `b.org/2?x=1` and `host:9901/b` are URLs,
/// `X-Count:1` and `a=b` are items.
enum FurtherURL: Equatable {
    case url
    case item
    /// Both readings make sense: `host:9901`, `X-Part:1/2`.
    case ambiguous

    init(_ word: String) {
        let end = word.firstIndex { $0 == "/" || $0 == "?" } ?? word.endIndex
        let hasPath = end < word.endIndex
        var host = word[..<end]
        var port: Substring?
        if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
            port = host[host.index(after: colon)...]
            host = host[..<colon]
        }
        let isAddress = host.hasPrefix("[") && host.hasSuffix("]")
        guard isAddress || !host.isEmpty && host.utf8.allSatisfy(Self.isOfHost) else {
            self = .item
            return
        }
        let isClear = isAddress || host.contains(".") || host.lowercased() == "localhost"
        guard let port else {
            self = hasPath && isClear || isAddress ? .url : .item
            return
        }
        guard let number = Int(port), 1...65535 ~= number else {
            self = .item
            return
        }
        // Header names are usually written with capitals and hyphens, local host names without.
        let isLowercase = !host.contains { $0.isUppercase }
        if hasPath {
            self = isClear || isLowercase ? .url : .ambiguous
        } else {
            self = isClear || isLowercase && !host.contains("-") ? .ambiguous : .item
        }
    }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || ASCII.isAlpha(byte) || ".-_".utf8.contains(byte) || byte >= 0x80
    }
}
