internal import Foundation

/// A URL as it is signed and sent.
package struct SignedURL: Equatable, Sendable {
    package let text: String
    package let path: String
    /// Without the question mark; empty where there is none.
    package let query: String

    /// Without a fragment and, unless they are to be kept, dot segments, and for all services but S3 with one slash where
    /// the path has several. Those services sign a path without both, and to S3 all of it is part of a key.
    package init(_ url: String, takesPathAsItIs: Bool, keepsDotSegments: Bool = false) {
        let whole = String(url.prefix { $0 != "#" })
        let plain = keepsDotSegments ? whole : DotSegments.removed(fromText: whole)
        let text = takesPathAsItIs ? plain : Self.withoutRepeatedSlashes(plain)
        // What is sent as it is may still be signed without its dots.
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
