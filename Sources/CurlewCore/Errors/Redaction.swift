package import Foundation

/// Takes out of what Curlew prints what must never be printed: credentials, cookies, tokens and query values.
///
/// It works on texts, because what has to be shown is not always a URL that Foundation can take apart.
package enum Redaction {
    /// Stands for the value of a header field or of a password.
    package static let replacement = "<redacted>"
    /// Stands for a value in a URL or in a body.
    package static let mark = "_"

    // MARK: URLs

    /// Without user information, and without the values of query and fragment.
    package static func redacted(_ url: URL) -> URL {
        let text = url.absoluteString
        let shown = reference(text)
        if shown == text { return url }
        // A URL that cannot be put together again is not shown at all.
        return URL(string: shown) ?? URL(filePath: "/")
    }

    /// The same for a text that is a URL, absolute or relative, or was meant to be one.
    package static func reference(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x3F || $0 == 0x23 || $0 == 0x40 }) else { return text }
        var rest = text[...]
        var end = ""
        // By scalars, here and below: a mark that combines with what separates parts makes another character of it.
        if let hash = rest.unicodeScalars.firstIndex(of: "#") {
            end = "#" + values(rest[rest.unicodeScalars.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let question = rest.unicodeScalars.firstIndex(of: "?") {
            end = "?" + values(rest[rest.unicodeScalars.index(after: question)...]) + end
            rest = rest[..<question]
        }
        return withoutUser(rest) + end
    }

    /// Each value of `a=1&b=2` gives way to `_`, and so does what has no name.
    private static func values(_ text: Substring) -> String {
        text.unicodeScalars.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return pair.isEmpty ? "" : mark }
            return String(pair[...equals]) + mark
        }.joined(separator: "&")
    }

    private static func withoutUser(_ text: Substring) -> String {
        guard let slashes = text.range(of: "//") else {
            // `mailto:` and worse: what stands before the last @ may be a password.
            guard let at = text.unicodeScalars.lastIndex(of: "@") else { return String(text) }
            guard let colon = text[..<at].unicodeScalars.firstIndex(of: ":") else {
                return text[..<at].contains("/") ? String(text) : mark + text[at...]
            }
            return String(text.unicodeScalars[...colon]) + mark + text[at...]
        }
        let authority = text[slashes.upperBound...].prefix { $0 != "/" }
        guard let at = authority.unicodeScalars.lastIndex(of: "@") else { return String(text) }
        return String(text[..<slashes.upperBound] + text[text.unicodeScalars.index(after: at)...])
    }

    /// A text in which URLs may stand: each of them redacted.
    package static func text(_ text: String) -> String {
        guard text.contains("://") else { return text }
        var shown = ""
        var rest = text[...]
        while let mark = rest.range(of: "://") {
            let host = hostStart(in: rest[mark.upperBound...])
            let end = rest[host...].firstIndex { $0.isWhitespace || "\"'<>`".contains($0) } ?? rest.endIndex
            shown += rest[..<mark.upperBound] + reference("//" + rest[host..<end]).dropFirst(2)
            rest = rest[end...]
        }
        return shown + rest
    }

    /// Returns the index behind the user information of a URL. A password may hold what ends a URL in quotes and, if it
    /// was not encoded, what ends an authority: then the host is behind the last `@`.
    private static func hostStart(in rest: Substring) -> String.Index {
        let run = rest.prefix { !$0.isWhitespace && !"<>`".contains($0) }
        let authority = run.prefix { !"\"/?#".contains($0) }.unicodeScalars
        var at = authority.lastIndex(of: "@")
        if at == nil, authority.first != "[", let colon = authority.firstIndex(of: ":") {
            let port = authority[colon...].dropFirst()
            let isPort = port.count <= 5 && port.allSatisfy { "0" <= $0 && $0 <= "9" }
            at = isPort ? nil : run.unicodeScalars.lastIndex(of: "@")
        }
        return at.map { rest.unicodeScalars.index(after: $0) } ?? rest.startIndex
    }

    // MARK: Header fields

    private static let references: Set<String> = ["location", "content-location", "referer", "refresh", "link"]

    /// What may be shown of a field's value. `more` are further names, in lower case, of fields that are secret.
    package static func value(of header: HTTPHeader, andOf more: Set<String> = []) -> String {
        if SecretNames.containsField(header.name) || more.contains(ASCII.lowercased(header.name)) { return replacement }
        guard references.contains(ASCII.lowercased(header.name)) else { return header.value }
        return header.value.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard let close = word.lastIndex(of: ">"), word.hasPrefix("<") else { return reference(String(word)) }
            return "<" + reference(String(word[..<close].dropFirst())) + word[close...]
        }.joined(separator: " ")
    }
}
