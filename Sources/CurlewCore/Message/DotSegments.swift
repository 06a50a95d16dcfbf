package import Foundation

/// The segments `.` and `..` of a URL's path, also with escaped dots.
///
/// Transports and servers resolve them (RFC 3986, 5.2.4 and 6.2.2). A cookie's path or a list of allowed paths would
/// be compared with something that is not sent: so a request's URL loses them before anything looks at it.
package enum DotSegments {
    /// The URL without them: the same one where it has none, as nearly always.
    package static func removed(from url: URL) -> URL {
        var text = url.absoluteString
        guard text.withUTF8(mayHaveAny) else { return url }
        return URL(string: removed(fromText: text)) ?? url
    }

    /// Whether a slash before query and fragment is followed by a dot, or by what may be one.
    private static func mayHaveAny(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var last: UInt8 = 0
        for byte in bytes {
            if last == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { return false }
            last = byte
        }
        return false
    }

    /// The same for the text of a URL.
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

    /// 1 or 2 where the segment is nothing but so many dots, nil otherwise.
    private static func dots(in segment: Substring) -> Int? {
        guard segment.utf8.count <= 6, !segment.isEmpty else { return nil }
        switch segment.lowercased().replacing("%2e", with: ".") {
        case ".": return 1
        case "..": return 2
        default: return nil
        }
    }
}
