internal import CCurl
internal import Glibc

/// A handle's URL, taken apart by libcurl once per origin.
///
/// libcurl parses the URL of every transfer and then writes it anew from its parts, byte by byte: a sixth of what it
/// spends on a small request. Parts that it is handed (CURLOPT_CURLU) it copies. So a URL of the same origin as
/// the handle's last one only has its path and query set.
final class URLParts {
    let handle: OpaquePointer
    private var text = ""
    /// nil where there are no parts.
    private var outline: URLOutline?

    init?() {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    /// The flags that libcurl itself has where it gets a URL as text.
    private static let flags = UInt32(CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME)

    /// The host as libcurl reads it: escapes undone, an IPv4 address as four numbers, IPv6 without brackets and zone. nil
    /// for what it does not take.
    static func host(of url: String) -> String? {
        guard let parts = curl_url() else { return nil }
        defer { curl_url_cleanup(parts) }
        var text: UnsafeMutablePointer<CChar>?
        // Asked as a transfer asks. Escapes were undone when it was set: with CURLU_URLDECODE they would be undone twice.
        guard curl_url_set(parts, CURLUPART_URL, url, flags) == CURLUE_OK,
            curl_url_get(parts, CURLUPART_HOST, &text, 0) == CURLUE_OK, let text
        else { return nil }
        defer { curl_free(text) }
        let host = String(cString: text)
        return host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    /// Makes them the parts of a URL; false where libcurl has to look at the text itself.
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
