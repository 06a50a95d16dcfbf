internal import CCurl
internal import Glibc

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
