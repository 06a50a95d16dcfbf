package import Foundation

/// Removes the segments `.` and `..` from a URL's path, also if their dots are escaped.
///
/// Transports and servers resolve these segments (RFC 3986, 5.2.4 and 6.2.2). The path of a cookie or a list of allowed
/// paths would then be compared with a path that is never sent. Therefore a request's URL loses the segments before
/// anything reads it.
package enum DotSegments {
    /// Returns the URL without dot segments. Nearly every URL has none and is returned as it is.
    package static func removed(from url: URL) -> URL {
        var text = url.absoluteString
        guard text.withUTF8(mayHaveAny) else { return url }
        return URL(string: removed(fromText: text)) ?? url
    }

    /// Whether a slash in front of the query and the fragment is followed by a dot, or by `%`, which may begin an
    /// escaped dot.
    private static func mayHaveAny(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var last: UInt8 = 0
        for byte in bytes {
            if last == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { return false }
            last = byte
        }
        return false
    }

    /// Returns the text of a URL without dot segments.
    package static func removed(fromText url: String) -> String {
        let bytes = url.utf8
        let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.endIndex
        guard let scheme = url[..<end].range(of: "://"),
            let start = bytes[scheme.upperBound..<end].firstIndex(of: UInt8(ascii: "/"))
        else { return url }
        let path = url[bytes.index(after: start)..<end]
        var kept: [Substring] = []
        var isFolder = false
        for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
            let dots = dots(in: segment)
            isFolder = dots != nil
            switch dots {
            case 1: break
            case 2: _ = kept.popLast()
            default: kept.append(segment)
            }
        }
        if isFolder { kept.append("") }
        return "\(url[...start])\(kept.joined(separator: "/"))\(url[end...])"
    }

    /// Returns the number of dots if the segment consists of one or two, escaped or not; otherwise `nil`.
    private static func dots(in segment: Substring) -> Int? {
        guard segment.utf8.count <= 6, !segment.isEmpty else { return nil }
        switch segment.lowercased().replacing("%2e", with: ".") {
        case ".": return 1
        case "..": return 2
        default: return nil
        }
    }
}
