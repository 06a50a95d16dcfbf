package import Foundation

/// The cookie file format of Netscape, which curl and wget also use: one line per cookie, fields separated by tabs. It
/// cannot express `SameSite`.
package enum NetscapeCookieFile {
    private static let httpOnlyMark = "#HttpOnly_"

    /// Returns the text of the file. Cookies with control characters cannot be written and are omitted.
    package static func text(of cookies: [Cookie]) -> String {
        var text = "# Netscape HTTP Cookie File\n\n"
        for cookie in cookies where isWritable(cookie) {
            let fields = [
                (cookie.isHTTPOnly ? httpOnlyMark : "") + (cookie.isHostOnly ? "" : ".") + cookie.domain,
                cookie.isHostOnly ? "FALSE" : "TRUE",
                cookie.path,
                cookie.isSecure ? "TRUE" : "FALSE",
                // 0 means a session cookie. An expired cookie must not become one.
                cookie.expires.map { String(max(1, Int64(clamped: $0.timeIntervalSince1970))) } ?? "0",
                cookie.name,
                cookie.value,
            ]
            text += fields.joined(separator: "\t") + "\n"
        }
        return text
    }

    private static func isWritable(_ cookie: Cookie) -> Bool {
        ![cookie.name, cookie.value, cookie.path, cookie.domain].contains { $0.utf8.contains { $0 < 0x20 } }
    }

    /// Parses the text of a file and skips invalid lines. `now` becomes the creation time of the cookies.
    package static func cookies(in text: String, now: Date) -> [Cookie] {
        text.split { $0 == "\n" || $0 == "\r\n" }.compactMap { line in
            var line = line
            let isHTTPOnly = line.hasPrefix(httpOnlyMark)
            if isHTTPOnly { line = line.dropFirst(httpOnlyMark.count) } else if line.hasPrefix("#") { return nil }
            let fields = line.split(separator: "\t", maxSplits: 6, omittingEmptySubsequences: false).map(String.init)
            guard fields.count >= 6, let expires = Int64(fields[4]), fields[2].hasPrefix("/") else { return nil }
            let domain = fields[0].hasPrefix(".") ? String(fields[0].dropFirst()) : fields[0]
            guard let domain = Hostname.canonical(domain) else { return nil }
            let cookie = Cookie(
                name: fields[5],
                value: fields.count > 6 ? fields[6] : "",
                domain: domain,
                path: fields[2],
                expires: expires == 0 ? nil : Date(timeIntervalSince1970: Double(expires)),
                isSecure: fields[3].uppercased() == "TRUE",
                isHTTPOnly: isHTTPOnly,
                isHostOnly: fields[1].uppercased() != "TRUE",
                created: now
            )
            return cookie.isSendable ? cookie : nil
        }
    }
}

extension Int64 {
    /// Creates an integer from the whole part, clamped to `.max`. Negative values out of range and NaN become 0.
    fileprivate init(clamped value: Double) {
        self = Int64(exactly: value.rounded(.down)) ?? (value > 0 ? .max : 0)
    }
}
