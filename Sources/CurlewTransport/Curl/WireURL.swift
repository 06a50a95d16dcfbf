internal import CCurl
internal import CurlewCore
internal import Foundation
internal import Glibc

/// A request's URL as libcurl gets it, with the few parts that planning needs.
struct WireURL: Sendable {
    private(set) var string: String
    /// `nil` if libcurl has to parse the whole text for each transfer.
    private(set) var outline: URLOutline?
    private let parts: URLScan.Parts

    var isTLS: Bool { parts.isTLS }
    var port: Int { parts.port }

    /// The host without brackets and zone, in the case of the text. If the text has escapes, this is the host as
    /// libcurl decodes it, because libcurl resolves, connects to and verifies that name.
    var host: String {
        let bytes = string.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: parts.host.lowerBound)
        let written = string[start..<bytes.index(start, offsetBy: parts.host.count)]
        guard written.utf8.contains(UInt8(ascii: "%")) else { return String(written) }
        return URLParts.host(of: string) ?? String(written)
    }

    init(_ url: URL) throws(CurlewError) {
        string = url.absoluteString
        guard let parts = URLScan(string).parts else {
            throw CurlewError(.invalidURL, phase: .creation, reason: Self.problem(of: string), url: url)
        }
        self.parts = parts
        outline = parts.outline
    }

    private static func problem(of text: String) -> String {
        if text.lowercased().hasPrefix("http://") || text.lowercased().hasPrefix("https://") {
            return "the URL's host is empty or longer than \(URLScan.longestHost) bytes, "
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
    func set(_ url: String, _ wanted: URLOutline?) -> Bool {
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
