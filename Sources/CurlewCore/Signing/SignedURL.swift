internal import Foundation

/// A URL as it is signed and sent.
package struct SignedURL: Equatable, Sendable {
    package let text: String
    package let path: String
    /// Without the question mark; empty where there is none.
    package let query: String

    /// Without a fragment and dot segments, and for all services but S3 with one slash where the path has several. Those
    /// services sign such a path, and to S3 each slash is part of a key.
    package init(_ url: String, takesPathAsItIs: Bool) {
        let plain = DotSegments.removed(fromText: String(url.prefix { $0 != "#" }))
        let text = takesPathAsItIs ? plain : Self.withoutRepeatedSlashes(plain)
        let rest = text.range(of: "://").map { text[$0.upperBound...] } ?? text[...]
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
