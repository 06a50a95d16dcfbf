internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

/// A request's URL as libcurl gets it, with the few parts that planning needs.
struct WireURL: Sendable {
    private(set) var string: String
    let isTLS: Bool
    let port: Int
    private let hostStart: Int
    private let hostEnd: Int
    /// `nil` if libcurl has to parse the whole text for each transfer.
    private(set) var outline: URLOutline?

    /// The host without brackets and zone, in the case of the text. If the text has escapes, this is the host as
    /// libcurl decodes it, because libcurl resolves, connects to and verifies that name.
    var host: String {
        let bytes = string.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: hostStart)
        let written = string[start..<bytes.index(start, offsetBy: hostEnd - hostStart)]
        guard written.utf8.contains(UInt8(ascii: "%")) else { return String(written) }
        return URLParts.host(of: string) ?? String(written)
    }

    init(_ url: URL) throws(CurlewError) {
        var text = url.absoluteString
        guard let parts = text.withUTF8({ Parts($0) }) else {
            throw CurlewError(
                .invalidURL,
                phase: .creation,
                reason: Self.problem(of: text),
                url: url
            )
        }
        string = text
        (isTLS, port) = (parts.isTLS, parts.port)
        (hostStart, hostEnd) = (parts.host.lowerBound, parts.host.upperBound)
        outline = parts.outline
    }

    private static func problem(of text: String) -> String {
        if text.lowercased().hasPrefix("http://") || text.lowercased().hasPrefix("https://") {
            return "the URL's host is empty or longer than \(Parts.longestHost) bytes, "
                + "its port is not a number up to 65535, or a character must be escaped"
        }
        let problem = "the URL is not an absolute http or https URL with a host"
        // `example.com/a`, `//example.com`, `example.com:8080`, `localhost`; not `ftp://…`, `mailto:…`, `/path`, `name`,
        // `index.html`.
        let isRelativeToScheme = text.hasPrefix("//")
        let bare = isRelativeToScheme ? text.dropFirst(2) : text[...]
        let host = bare.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let port = host.firstIndex(of: ":").map { host[$0...].dropFirst() }
        let isMoreThanName = isRelativeToScheme || port != nil || bare[host.endIndex...].hasPrefix("/")
        // The text before an @ may contain a password.
        guard host.first.map({ $0.isLetter || $0.isNumber }) == true,
            host.contains(".") && isMoreThanName || host.hasPrefix("localhost"), !host.contains("@"),
            port.map(Self.isPort) ?? true
        else { return problem }
        return problem + "; write https://\(Redaction.reference(String(bare)))"
    }

    private static func isPort(_ text: Substring) -> Bool { !text.isEmpty && text.utf8.allSatisfy(ASCII.isDigit) }

    /// Replaces the text by another URL of the same origin.
    mutating func replaceText(_ text: String) {
        string = text
        outline = nil
    }

    /// The positions of a URL's parts in its bytes.
    private struct Parts {
        /// The longest host that is accepted; no DNS name is longer. libcurl before 8.4 overflows a buffer when it
        /// sends a longer one to a SOCKS5 proxy (CVE-2023-38545).
        fileprivate static let longestHost = 255

        let isTLS: Bool
        let host: Range<Int>
        let port: Int
        let outline: URLOutline?

        init?(_ bytes: UnsafeBufferPointer<UInt8>) {
            guard let base = bytes.baseAddress, bytes.count >= 8 else { return nil }
            // The mask folds letters and leaves `:` and `/` unchanged. A control character that becomes one of them is
            // refused below.
            let scheme = UnsafeRawPointer(base).loadUnaligned(as: UInt64.self).littleEndian | 0x2020_2020_2020_2020
            let start: Int
            if scheme == 0x2F2F_3A73_7074_7468 {  // https://
                (isTLS, start) = (true, 8)
            } else if scheme << 8 == 0x2F2F_3A70_7474_6800 {  // http://
                (isTLS, start) = (false, 7)
            } else {
                return nil
            }
            let (isPrintable, isPlain) = Self.judge(UnsafeRawBufferPointer(bytes))
            guard isPrintable else { return nil }
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
            outline = isPlain && host == start ? URLOutline(bytes, origin: end) : nil
            var hostEnd = colon < 0 ? end : colon
            if host < end, base[host] == UInt8(ascii: "[") {
                guard let close = memchr(base + host, 0x5D, end - host) else { return nil }
                host += 1
                hostEnd = base.distance(to: close.assumingMemoryBound(to: UInt8.self))
                guard hostEnd + 1 == end || base[hostEnd + 1] == UInt8(ascii: ":") else { return nil }
                colon = hostEnd + 1
            }
            guard host < hostEnd, hostEnd - host <= Self.longestHost else { return nil }
            self.host = host..<hostEnd
            guard colon >= 0, colon + 1 < end else {
                port = isTLS ? 443 : 80
                return
            }
            let digits = UnsafeBufferPointer(rebasing: bytes[(colon + 1)..<end])
            guard let number = Self.decimal(digits), number <= 65535 else { return nil }
            port = number
        }

        /// Whether every byte may appear in a request line (no raw space, control character or non-ASCII), and whether
        /// none keeps libcurl from taking the parts as they are (`%`, `#`, `[`). `bytes` has at least eight bytes and
        /// is read eight at a time.
        private static func judge(_ bytes: UnsafeRawBufferPointer) -> (isPrintable: Bool, isPlain: Bool) {
            let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
            // Nonzero if one of the word's bytes is zero.
            func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & tops }
            var (unprintable, special): (UInt64, UInt64) = (0, 0)
            var index = 0
            while true {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                unprintable |= (word | ((word &- 0x21 &* ones) & ~word)) & tops | zeros(word ^ 0x7F &* ones)
                special |= zeros(word ^ 0x25 &* ones) | zeros(word ^ 0x23 &* ones) | zeros(word ^ 0x5B &* ones)
                if index == bytes.count - 8 { break }
                // The last word may overlap the one before it.
                index = min(index + 8, bytes.count - 8)
            }
            return (unprintable == 0, special == 0)
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

/// The positions of path and query in a URL whose parts libcurl takes as they are written.
///
/// There is none for a URL that libcurl would change: with escapes (libcurl writes the escapes of a part in lower
/// case), dot segments, a fragment, credentials, an address in brackets, an empty path or query.
struct URLOutline: Equatable, Sendable {
    /// The number of bytes of scheme, host and port as written.
    let origin: Int
    /// The number of bytes up to the end of the path.
    let path: Int
    /// The number of bytes of the URL.
    let count: Int

    var hasQuery: Bool { path < count }

    /// `nil` if libcurl would change the URL. `bytes` must have no `%`, `#` or `[`, and no credentials.
    init?(_ bytes: UnsafeBufferPointer<UInt8>, origin: Int) {
        guard let base = bytes.baseAddress, origin < bytes.count, base[origin] == UInt8(ascii: "/") else { return nil }
        let rest = bytes.count - origin
        let question = memchr(base + origin, 0x3F, rest)
        let path = question.map { base.distance(to: $0.assumingMemoryBound(to: UInt8.self)) } ?? bytes.count
        guard path + 1 != bytes.count || question == nil else { return nil }
        var dots: UInt8 = 0
        for index in origin..<(path - 1) { dots |= base[index] == 0x2F && base[index + 1] == 0x2E ? 1 : 0 }
        guard dots == 0 else { return nil }
        (self.origin, self.path, count) = (origin, path, bytes.count)
    }
}

/// The URL of a handle, parsed by libcurl once per origin.
///
/// libcurl parses the URL of every transfer and then writes it again from its parts, which is a sixth of its work for a
/// small request. Parts that it is given (CURLOPT_CURLU) are only copied. If the next URL of the handle has the same
/// origin, only its path and query are set.
final class URLParts {
    let handle: OpaquePointer
    private var text = ""
    /// The outline of the URL that the parts belong to; `nil` if there are no parts.
    private var outline: URLOutline?

    init?() {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    /// The flags that libcurl uses itself for a URL that is set as text.
    private static let flags = UInt32(CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME)

    /// Returns the host as libcurl reads it: escapes undone, an IPv4 address as four numbers, IPv6 without brackets and
    /// zone. `nil` if libcurl rejects the URL.
    static func host(of url: String) -> String? {
        guard let parts = curl_url() else { return nil }
        defer { curl_url_cleanup(parts) }
        var text: UnsafeMutablePointer<CChar>?
        // These are the flags of a transfer. Setting the URL has undone the escapes; CURLU_URLDECODE would undo them
        // twice.
        guard curl_url_set(parts, CURLUPART_URL, url, flags) == CURLUE_OK,
            curl_url_get(parts, CURLUPART_HOST, &text, 0) == CURLUE_OK, let text
        else { return nil }
        defer { curl_free(text) }
        let host = String(cString: text)
        return host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    /// Sets the parts to those of a URL. Returns false if libcurl has to parse the text itself.
    func take(_ url: String, _ wanted: URLOutline?) -> Bool {
        guard let wanted else { return false }
        let code = text.withCString { last in
            url.withCString { next in set(next, wanted, after: last) }
        }
        outline = code == CURLUE_OK ? wanted : nil
        text = url
        return code == CURLUE_OK
    }

    private func set(_ next: UnsafePointer<CChar>, _ wanted: URLOutline, after last: UnsafePointer<CChar>) -> CURLUcode
    {
        guard let outline, outline.origin == wanted.origin, memcmp(last, next, wanted.origin) == 0 else {
            return curl_url_set(handle, CURLUPART_URL, next, Self.flags)
        }
        let origin = wanted.origin
        if outline.path != wanted.path || memcmp(last + origin, next + origin, wanted.path - origin) != 0 {
            let code = setPath(next, wanted)
            guard code == CURLUE_OK else { return code }
        }
        guard wanted.hasQuery else {
            return outline.hasQuery ? curl_url_set(handle, CURLUPART_QUERY, nil, 0) : CURLUE_OK
        }
        return curl_url_set(handle, CURLUPART_QUERY, next + wanted.path + 1, 0)
    }

    private func setPath(_ next: UnsafePointer<CChar>, _ wanted: URLOutline) -> CURLUcode {
        guard wanted.hasQuery else { return curl_url_set(handle, CURLUPART_PATH, next + wanted.origin, 0) }
        let count = wanted.path - wanted.origin
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { path in
            guard let start = path.baseAddress else { return CURLUE_OUT_OF_MEMORY }
            start.initialize(from: next + wanted.origin, count: count)
            start[count] = 0
            return curl_url_set(handle, CURLUPART_PATH, start, 0)
        }
    }
}
