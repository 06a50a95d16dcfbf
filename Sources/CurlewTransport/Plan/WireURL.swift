internal import CurlewCore
internal import Foundation
internal import Glibc

/// A URL as libcurl gets it, with the few facts that planning needs; found by one look at its bytes.
struct WireURL: Sendable {
    private(set) var string: String
    let isTLS: Bool
    let port: Int
    private let hostStart: Int
    private let hostEnd: Int
    /// nil where libcurl has to look at the whole of it each time.
    private(set) var outline: URLOutline?

    /// Without brackets, in the case it was written.
    var host: String {
        let bytes = string.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: hostStart)
        return String(string[start..<bytes.index(start, offsetBy: hostEnd - hostStart)])
    }

    init(_ url: URL) throws(CurlewError) {
        var text = url.absoluteString
        guard let parts = text.withUTF8({ Parts($0) }) else {
            throw CurlewError(
                .invalidURL,
                phase: .creation,
                reason: "an absolute http or https URL with a host is needed",
                url: url
            )
        }
        string = text
        (isTLS, port) = (parts.isTLS, parts.port)
        (hostStart, hostEnd) = (parts.host.lowerBound, parts.host.upperBound)
        outline = parts.outline
    }

    /// The same origin, path and query, but for what a signature changes of them.
    mutating func sign() {
        string = SignedRequest.url(string)
        outline = nil
    }

    /// Where the parts of a URL are in its bytes.
    private struct Parts {
        let isTLS: Bool
        let host: Range<Int>
        let port: Int
        let outline: URLOutline?

        init?(_ bytes: UnsafeBufferPointer<UInt8>) {
            guard let base = bytes.baseAddress, Self.isPrintable(bytes) else { return nil }
            let start: Int
            if Self.matches(bytes, "https://") {
                (isTLS, start) = (true, 8)
            } else if Self.matches(bytes, "http://") {
                (isTLS, start) = (false, 7)
            } else {
                return nil
            }
            var (end, host, colon) = (start, start, -1)
            authority: while end < bytes.count {
                switch base[end] {
                case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break authority
                case UInt8(ascii: "\\"): return nil
                case UInt8(ascii: "@"): (host, colon) = (end + 1, -1)
                case UInt8(ascii: ":"): colon = end
                default: break
                }
                end += 1
            }
            outline = host == start ? URLOutline(bytes, origin: end) : nil
            var hostEnd = colon < 0 ? end : colon
            if host < end, base[host] == UInt8(ascii: "[") {
                guard let close = memchr(base + host, 0x5D, end - host) else { return nil }
                host += 1
                hostEnd = base.distance(to: close.assumingMemoryBound(to: UInt8.self))
                guard hostEnd + 1 == end || base[hostEnd + 1] == UInt8(ascii: ":") else { return nil }
                colon = hostEnd + 1
            }
            guard host < hostEnd else { return nil }
            self.host = host..<hostEnd
            guard colon >= 0, colon + 1 < end else {
                port = isTLS ? 443 : 80
                return
            }
            let digits = UnsafeBufferPointer(rebasing: bytes[(colon + 1)..<end])
            guard let number = Self.decimal(digits), number <= 65535 else { return nil }
            port = number
        }

        /// Raw spaces, controls and non-ASCII never belong in a request line.
        private static func isPrintable(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            var isPrintable = true
            for byte in bytes { isPrintable = isPrintable && byte &- 0x21 < 0x5E }
            return isPrintable
        }

        private static func matches(_ bytes: UnsafeBufferPointer<UInt8>, _ prefix: StaticString) -> Bool {
            let count = prefix.utf8CodeUnitCount
            guard bytes.count > count else { return false }
            // Letters fold, `:` and `/` stay as they are, and what would become one of them was refused before.
            for index in 0..<count where bytes[index] | 0x20 != prefix.utf8Start[index] { return false }
            return true
        }

        private static func decimal(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
            guard bytes.count <= 6 else { return nil }
            var value = 0
            for byte in bytes {
                guard byte &- 0x30 < 10 else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            return value
        }
    }
}

/// Where path and query begin in a URL whose parts libcurl takes as they are written.
///
/// Not so where it would change something: with escapes (libcurl writes those of a part that it is given in
/// lower case), dot segments, a fragment, credentials, an address in brackets, an empty path or query.
struct URLOutline: Equatable, Sendable {
    /// Bytes of scheme, host and port as written.
    let origin: Int
    /// Bytes up to the end of the path.
    let path: Int
    /// Bytes of it all.
    let count: Int

    var hasQuery: Bool { path < count }

    init?(_ bytes: UnsafeBufferPointer<UInt8>, origin: Int) {
        guard let base = bytes.baseAddress, origin < bytes.count, base[origin] == UInt8(ascii: "/") else { return nil }
        let rest = bytes.count - origin
        let question = memchr(base + origin, 0x3F, rest)
        let path = question.map { base.distance(to: $0.assumingMemoryBound(to: UInt8.self)) } ?? bytes.count
        guard path + 1 != bytes.count || question == nil else { return nil }
        // Counted instead of looked for: branchless, many bytes at a time.
        var refused = 0
        for byte in bytes where byte == 0x25 || byte == 0x23 || byte == 0x5B { refused += 1 }
        for index in origin..<(path - 1) where base[index] == 0x2F && base[index + 1] == 0x2E { refused += 1 }
        guard refused == 0 else { return nil }
        (self.origin, self.path, count) = (origin, path, bytes.count)
    }
}
