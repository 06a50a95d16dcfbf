internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

/// A request's URL as libcurl gets it, with the few parts that planning needs.
struct WireURL: Sendable {
    private(set) var string: String
    let isTLS: Bool
    let port: Int
    /// The end of scheme, credentials, host and port in the text's bytes.
    private let originEnd: Int
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

    /// Scheme, credentials, host and port, as written.
    var origin: String {
        let bytes = string.utf8
        return String(string[..<bytes.index(bytes.startIndex, offsetBy: originEnd)])
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
        originEnd = parts.originEnd
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
        let originEnd: Int
        let host: Range<Int>
        let port: Int
        let outline: URLOutline?

        init?(_ bytes: UnsafeBufferPointer<UInt8>) {
            isTLS = Self.starts(bytes, with: "https://")
            guard isTLS || Self.starts(bytes, with: "http://") else { return nil }
            let start = isTLS ? 8 : 7
            var (origin, host, colon, bracket, question) = (bytes.count, start, -1, -1, bytes.count)
            // Whether libcurl would leave the parts as they are.
            var isPlain = true
            for index in start..<bytes.count {
                let byte = bytes[index]
                // A request line has no raw space, control character or non-ASCII.
                guard byte > 0x20, byte < 0x7F else { return nil }
                let isInOrigin = index < origin
                switch byte {
                case UInt8(ascii: "%"): isPlain = false
                case UInt8(ascii: "#"):
                    isPlain = false
                    if isInOrigin { origin = index }
                case UInt8(ascii: "/"):
                    if isInOrigin { origin = index }
                case UInt8(ascii: "?"):
                    if isInOrigin { origin = index }
                    question = min(question, index)
                case UInt8(ascii: "."):
                    if index > origin, index < question, bytes[index - 1] == UInt8(ascii: "/") { isPlain = false }
                case UInt8(ascii: "\\"):
                    if isInOrigin { return nil }
                case UInt8(ascii: "@"):
                    if isInOrigin { (host, colon, bracket, isPlain) = (index + 1, -1, -1, false) }
                case UInt8(ascii: ":"):
                    if isInOrigin { colon = index }
                case UInt8(ascii: "["): isPlain = false
                case UInt8(ascii: "]"):
                    if isInOrigin, bracket < 0 { bracket = index }
                default: break
                }
            }
            originEnd = origin
            var hostEnd = colon < 0 ? origin : colon
            if host < origin, bytes[host] == UInt8(ascii: "[") {
                guard bracket >= 0, bracket + 1 == origin || bytes[bracket + 1] == UInt8(ascii: ":") else { return nil }
                (host, hostEnd, colon) = (host + 1, bracket, bracket + 1)
            }
            guard host < hostEnd, hostEnd - host <= Self.longestHost else { return nil }
            self.host = host..<hostEnd
            let hasPath = origin < bytes.count && bytes[origin] == UInt8(ascii: "/")
            let hasEmptyQuery = question + 1 == bytes.count
            outline =
                isPlain && hasPath && !hasEmptyQuery
                ? URLOutline(origin: origin, path: question, count: bytes.count) : nil
            guard colon >= 0, colon + 1 < origin else {
                port = isTLS ? 443 : 80
                return
            }
            let digits = UnsafeBufferPointer(rebasing: bytes[(colon + 1)..<origin])
            guard let number = Self.decimal(digits), number <= 65535 else { return nil }
            port = number
        }

        private static func starts(_ bytes: UnsafeBufferPointer<UInt8>, with scheme: StaticString) -> Bool {
            let count = scheme.utf8CodeUnitCount
            return bytes.count >= count
                && (0..<count).allSatisfy { ASCII.lowercased(bytes[$0]) == scheme.utf8Start[$0] }
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
        return Hostname.withoutBrackets(String(cString: text))
    }

    /// Sets the parts to those of a URL. Returns false if libcurl has to parse the text itself.
    func take(_ url: String, _ wanted: URLOutline?) -> Bool {
        guard let wanted else { return false }
        let (origin, before) = (wanted.origin, outline)
        let code = text.withCString { last in
            url.withCString { next -> CURLUcode in
                guard let before, before.origin == origin, memcmp(last, next, origin) == 0 else {
                    return curl_url_set(handle, CURLUPART_URL, next, Self.flags)
                }
                if before.path != wanted.path || memcmp(last + origin, next + origin, wanted.path - origin) != 0 {
                    let code = setPath(next, wanted)
                    guard code == CURLUE_OK else { return code }
                }
                guard wanted.hasQuery else {
                    return before.hasQuery ? curl_url_set(handle, CURLUPART_QUERY, nil, 0) : CURLUE_OK
                }
                return curl_url_set(handle, CURLUPART_QUERY, next + wanted.path + 1, 0)
            }
        }
        outline = code == CURLUE_OK ? wanted : nil
        text = url
        return code == CURLUE_OK
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
