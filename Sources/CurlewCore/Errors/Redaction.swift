package import Foundation

/// Removes credentials, cookies, tokens and query values from everything that Curlew prints.
///
/// The functions work on text, because Foundation cannot parse everything that has to be shown as a URL.
package enum Redaction {
    /// Replaces the value of a header field or a password.
    package static let replacement = "<redacted>"
    /// Replaces a value in a URL or in a body.
    package static let mark = "_"

    // MARK: URLs

    /// Returns the URL without user information, and without the values in its query and fragment.
    package static func redacted(_ url: URL) -> URL {
        let text = url.absoluteString
        let shown = reference(text)
        if shown == text { return url }
        // If the redacted text is not a URL, nothing of the original is shown.
        return URL(string: shown) ?? URL(filePath: "/")
    }

    /// Redacts a text that is, or was meant to be, an absolute or relative URL.
    package static func reference(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x3F || $0 == 0x23 || $0 == 0x40 }) else { return text }
        return reference(text, base: withoutUser, items: values)
    }

    /// Redacts a reference: what precedes its query and fragment with `base`, and the items of those with `items`.
    package static func reference(
        _ text: String, base: (Substring) -> String, items: (Substring) -> String
    ) -> String {
        var rest = text[...]
        var end = ""
        // Here and below, search for scalars: a separator with a combining mark after it is a different `Character`.
        if let hash = rest.unicodeScalars.firstIndex(of: "#") {
            end = "#" + items(rest[rest.unicodeScalars.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let question = rest.unicodeScalars.firstIndex(of: "?") {
            end = "?" + items(rest[rest.unicodeScalars.index(after: question)...]) + end
            rest = rest[..<question]
        }
        return base(rest) + end
    }

    /// Replaces each value of `a=1&b=2`, and each item that has no name, with `_`.
    private static func values(_ text: Substring) -> String {
        text.unicodeScalars.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return pair.isEmpty ? "" : mark }
            return String(pair[...equals]) + mark
        }.joined(separator: "&")
    }

    private static func withoutUser(_ text: Substring) -> String {
        guard let slashes = text.range(of: "//") else {
            // In `mailto:` and similar URLs, the text before the last @ may be a password.
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

    /// Redacts every URL within a text.
    package static func text(_ text: String) -> String {
        guard text.contains("://") else { return text }
        var shown = ""
        var rest = text[...]
        // The characters that may belong to one URL, or to several without a blank in between; each run is scanned once.
        var run = rest.prefix(0)
        var lastAt: String.Index?
        while let mark = rest.range(of: "://") {
            if mark.upperBound >= run.endIndex {
                run = rest[mark.upperBound...].prefix { !$0.isWhitespace && !"<>`".contains($0) }
                lastAt = run.unicodeScalars.lastIndex(of: "@")
            }
            let host = hostStart(in: text[mark.upperBound..<run.endIndex], lastAt: lastAt)
            let end = rest[host...].firstIndex { $0.isWhitespace || "\"'<>`".contains($0) } ?? rest.endIndex
            shown += rest[..<mark.upperBound] + reference("//" + rest[host..<end]).dropFirst(2)
            rest = rest[end...]
        }
        return shown + rest
    }

    /// Returns the index after the user information of a URL. A password that was not encoded may contain a quote,
    /// which would end the URL, or a character that would end the authority. In that case, the host begins after the
    /// last `@`.
    private static func hostStart(in run: Substring, lastAt: String.Index?) -> String.Index {
        let authority = run.prefix { !"\"/?#".contains($0) }.unicodeScalars
        var at = authority.lastIndex(of: "@")
        if at == nil, authority.first != "[", let colon = authority.firstIndex(of: ":") {
            let port = authority[colon...].dropFirst()
            let isPort = port.count <= 5 && port.allSatisfy { "0" <= $0 && $0 <= "9" }
            at = isPort ? nil : lastAt.flatMap { $0 < run.startIndex ? nil : $0 }
        }
        return at.map { run.unicodeScalars.index(after: $0) } ?? run.startIndex
    }

    // MARK: Header fields

    private static let references: Set<String> = ["location", "content-location", "referer", "refresh", "link"]

    /// Returns the part of a field's value that may be shown. `more` contains the lower-case names of further secret
    /// fields.
    package static func value(of header: HTTPHeader, andOf more: Set<String> = []) -> String {
        if SecretNames.containsField(header.name) || more.contains(ASCII.lowercased(header.name)) { return replacement }
        guard references.contains(ASCII.lowercased(header.name)) else { return header.value }
        return header.value.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard let close = word.lastIndex(of: ">"), word.hasPrefix("<") else { return reference(String(word)) }
            return "<" + reference(String(word[..<close].dropFirst())) + word[close...]
        }.joined(separator: " ")
    }
}
