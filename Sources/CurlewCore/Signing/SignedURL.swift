internal import Foundation

/// A URL in the form in which it is sent, with the path and query to sign.
package struct SignedURL: Equatable, Sendable {
    package let text: String
    package let path: String
    /// The query without the question mark; empty if there is none.
    package let query: String

    /// Removes the fragment and, unless they are to be kept, dot segments. For all services but S3, it also collapses
    /// repeated slashes in the path: those services sign a path without dot segments and repeated slashes. For S3 the
    /// whole path is part of a key.
    package init(_ url: String, takesPathAsItIs: Bool, keepsDotSegments: Bool = false) {
        let whole = String(url.prefix { $0 != "#" })
        let plain = keepsDotSegments ? whole : DotSegments.removed(fromText: whole)
        let text = takesPathAsItIs ? plain : Self.withoutRepeatedSlashes(plain)
        // Dot segments that are kept for sending are still removed for signing.
        let signed = takesPathAsItIs ? text : DotSegments.removed(fromText: text)
        let rest = signed.range(of: "://").map { signed[$0.upperBound...] } ?? signed[...]
        let target = rest.drop { $0 != "/" && $0 != "?" }
        let path = target.prefix { $0 != "?" }
        self.text = text
        self.path = String(path)
        query = String(target.dropFirst(path.count + 1))
    }

    private static func withoutRepeatedSlashes(_ text: String) -> String {
        let end = text.firstIndex(of: "?") ?? text.endIndex
        guard let start = text[..<end].range(of: "://")?.upperBound, let path = text[start..<end].firstIndex(of: "/")
        else { return text }
        var collapsed = ""
        for character in text[path..<end] where character != "/" || collapsed.last != "/" {
            collapsed.append(character)
        }
        return text[..<path] + collapsed + text[end...]
    }
}
