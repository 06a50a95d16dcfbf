package import Foundation

/// What one pass over a URL's text finds: the parts of a URL that can be sent, and whether it needs closer checks.
///
/// Preparing a request and planning its transfer both ask this type, so that they cannot read a URL differently. Only
/// libcurl reads it again.
package struct URLScan: Sendable {
    /// Whether a scheme, `://`, a name or IPv4 address and optionally a port are all that precedes the path, the query
    /// or the end. Any other URL may contain credentials, and its host must be checked with `Hostname.isUsable`. Most
    /// URLs are plain, and need not be parsed for that.
    package let hasPlainHost: Bool
    /// Whether a slash of the path is followed by a dot, or by `%`, which may begin an escaped dot.
    package let mayHaveDotSegments: Bool
    /// The parts of an http or https URL. `nil` for any other text, and if the host is empty or too long, the port is
    /// not a number up to 65535, or a character must be escaped.
    package let parts: Parts?

    /// The positions of a URL's parts in its bytes.
    package struct Parts: Sendable {
        package let isTLS: Bool
        /// The host without brackets.
        package let host: Range<Int>
        package let port: Int
        /// The number of bytes of scheme, credentials, host and port.
        package let origin: Int
        /// `nil` if libcurl has to parse the whole text for each transfer.
        package let outline: URLOutline?
    }

    /// The longest host that is accepted; no DNS name is longer. libcurl before 8.4 overflows a buffer when it sends a
    /// longer one to a SOCKS5 proxy (CVE-2023-38545).
    package static let longestHost = 255

    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { URLScan($0) }
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        var scheme = 0
        while scheme < bytes.count, Self.isNameByte(bytes[scheme]) { scheme += 1 }
        let isAbsolute =
            scheme + 3 <= bytes.count && bytes[scheme] == UInt8(ascii: ":")
            && bytes[scheme + 1] == UInt8(ascii: "/") && bytes[scheme + 2] == UInt8(ascii: "/")
        let authority = Authority(bytes, from: isAbsolute ? scheme + 3 : 0)
        hasPlainHost = isAbsolute && authority.isPlain

        var (path, hasDots) = (bytes.count, false)
        var (isPrintable, isVerbatim) = (authority.isPrintable, authority.isVerbatim)
        for index in authority.end..<bytes.count {
            let byte = bytes[index]
            if Self.isNameByte(byte), byte != UInt8(ascii: ".") { continue }
            switch byte {
            case UInt8(ascii: "?"): path = min(path, index)
            case UInt8(ascii: "#"): (path, isVerbatim) = (min(path, index), false)
            case UInt8(ascii: "["): isVerbatim = false
            case UInt8(ascii: "."), UInt8(ascii: "%"):
                if byte == UInt8(ascii: "%") { isVerbatim = false }
                if index < path, bytes[index - 1] == UInt8(ascii: "/") { hasDots = true }
            default:
                // A request line has no raw space, control character or non-ASCII.
                if byte <= 0x20 || byte >= 0x7F { isPrintable = false }
            }
        }
        mayHaveDotSegments = hasDots

        let isTLS = scheme == 5 && bytes[4] | 0x20 == UInt8(ascii: "s")
        guard isAbsolute, isTLS || scheme == 4, bytes[0] | 0x20 == UInt8(ascii: "h"),
            bytes[1] | 0x20 == UInt8(ascii: "t"), bytes[2] | 0x20 == UInt8(ascii: "t"),
            bytes[3] | 0x20 == UInt8(ascii: "p"),
            isPrintable, let (host, port) = authority.hostAndPort(bytes)
        else {
            parts = nil
            return
        }
        let hasPath = authority.end < bytes.count && bytes[authority.end] == UInt8(ascii: "/")
        let hasEmptyQuery = path + 1 == bytes.count
        parts = Parts(
            isTLS: isTLS, host: host, port: port ?? (isTLS ? 443 : 80), origin: authority.end,
            outline: isVerbatim && !hasDots && hasPath && !hasEmptyQuery
                ? URLOutline(origin: authority.end, path: path, count: bytes.count) : nil)
    }

    /// Whether a byte is a letter, a digit, a dot or a hyphen.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x2D < 13 && byte != UInt8(ascii: "/")
    }

    /// The text between `://` and the path, the query, the fragment or the end.
    private struct Authority {
        let end: Int
        private let host: Int
        /// The last colon behind the credentials; -1 if there is none.
        private let colon: Int
        /// The first closing bracket behind the credentials; -1 if there is none.
        private let bracket: Int
        /// Whether it is a name or IPv4 address, and optionally a port.
        let isPlain: Bool
        /// Whether libcurl would leave it as it is.
        let isVerbatim: Bool
        let isPrintable: Bool

        init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) {
            var (index, host, colon, bracket) = (start, start, -1, -1)
            var (isPlain, isVerbatim, isPrintable) = (true, true, true)
            scan: while index < bytes.count {
                let byte = bytes[index]
                switch byte {
                case _ where URLScan.isNameByte(byte): if colon >= 0, !ASCII.isDigit(byte) { isPlain = false }
                case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break scan
                case UInt8(ascii: "@"):
                    (host, colon, bracket, isPlain, isVerbatim) = (index + 1, -1, -1, false, false)
                case UInt8(ascii: ":"):
                    if colon >= 0 { isPlain = false }
                    colon = index
                case UInt8(ascii: "%"), UInt8(ascii: "["): (isPlain, isVerbatim) = (false, false)
                case UInt8(ascii: "]"):
                    isPlain = false
                    if bracket < 0 { bracket = index }
                default:
                    isPlain = false
                    if byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\\") { isPrintable = false }
                }
                index += 1
            }
            (end, self.host, self.colon, self.bracket) = (index, host, colon, bracket)
            (self.isPlain, self.isVerbatim, self.isPrintable) = (isPlain, isVerbatim, isPrintable)
        }

        /// Returns the host without brackets, and the port if there is one. `nil` if one of them is not acceptable.
        func hostAndPort(_ bytes: UnsafeBufferPointer<UInt8>) -> (host: Range<Int>, port: Int?)? {
            var (host, hostEnd) = (host, colon < 0 ? end : colon)
            var afterHost = hostEnd
            if host < end, bytes[host] == UInt8(ascii: "[") {
                guard bracket >= 0, bracket + 1 == end || bytes[bracket + 1] == UInt8(ascii: ":") else { return nil }
                (host, hostEnd, afterHost) = (host + 1, bracket, bracket + 1)
            }
            guard host < hostEnd, hostEnd - host <= URLScan.longestHost else { return nil }
            let digits = bytes[..<end].dropFirst(afterHost + 1)
            guard !digits.isEmpty else { return (host..<hostEnd, nil) }
            guard digits.count <= 6, digits.allSatisfy(ASCII.isDigit) else { return nil }
            let port = digits.reduce(0) { $0 * 10 + Int($1 & 15) }
            return port <= 65535 ? (host..<hostEnd, port) : nil
        }
    }
}

/// The positions of path and query in a URL whose parts libcurl takes as they are written.
///
/// There is none for a URL that libcurl would change: with escapes (libcurl writes the escapes of a part in lower
/// case), dot segments, a fragment, credentials, an address in brackets, an empty path or query.
package struct URLOutline: Equatable, Sendable {
    /// The number of bytes of scheme, host and port as written.
    package let origin: Int
    /// The number of bytes up to the end of the path.
    package let path: Int
    /// The number of bytes of the URL.
    package let count: Int

    package var hasQuery: Bool { path < count }
}

/// Removes the segments `.` and `..` from a URL's path, also if their dots are escaped.
///
/// Transports and servers resolve these segments (RFC 3986, 5.2.4 and 6.2.2). The path of a cookie or a list of allowed
/// paths would then be compared with a path that is never sent. Therefore a request's URL loses the segments before
/// anything reads it.
package enum DotSegments {
    /// Returns the URL without dot segments. Nearly every URL has none and is returned as it is.
    package static func removed(from url: URL) -> URL {
        let text = url.absoluteString
        guard URLScan(text).mayHaveDotSegments else { return url }
        return URL(string: removed(fromText: text)) ?? url
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
