package import Foundation

/// What a cache has to know of a request.
package struct CacheRequest: Sendable {
    package let key: CacheKey
    package let method: HTTPMethod
    /// All fields that go out.
    package let headers: HTTPHeaders
    package let control: CacheControl
    package let policy: CachePolicy
    /// Whether the body is wanted without its content coding.
    package let decodesContent: Bool
    /// Whether it is sent with credentials, in a field or in what a transport adds.
    package let hasCredentials: Bool

    package init(
        url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        policy: CachePolicy = .useProtocol,
        decodesContent: Bool = true,
        partition: String = "",
        hasCredentials: Bool = false
    ) {
        self.hasCredentials = hasCredentials || headers.contains(name: "Authorization")
        key = CacheKey(url: url, partition: partition)
        self.method = method
        self.headers = headers
        control = CacheControl(headers)
        self.policy = policy
        self.decodesContent = decodesContent
    }

    package var hasRange: Bool { headers.contains(name: "Range") }

    /// Whether the caller asks under a condition of its own that a cache may answer (RFC 9111, 4.3.2).
    package var hasCondition: Bool {
        headers.contains(name: "If-None-Match") || headers.contains(name: "If-Modified-Since")
    }

    /// Whether there is a condition that only the server can judge.
    package var hasPrecondition: Bool {
        headers.contains(name: "If-Match") || headers.contains(name: "If-Unmodified-Since")
    }
}

extension CacheKey {
    /// The key of a request: scheme and host in lower case, no default port, a path at least, no fragment.
    package init(url: URL, partition: String = "") { self.init(url: Self.text(of: url), partition: partition) }

    /// `CacheKey.url` of a URL.
    package static func text(of url: URL) -> String {
        let text = url.absoluteString
        if isNormal(text) { return text }
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return text }
        parts.fragment = nil
        parts.scheme = parts.scheme?.lowercased()
        parts.encodedHost = parts.encodedHost?.lowercased()
        if parts.port == (parts.scheme == "https" ? 443 : 80) { parts.port = nil }
        if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
        return parts.string ?? text
    }

    /// As nearly all are: lower case up to the path, which is there, neither port nor fragment.
    private static func isNormal(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let authority = bytes[colon...].dropFirst(3)
        guard let slash = authority.firstIndex(of: UInt8(ascii: "/")) else { return false }
        let isPlain =
            bytes[..<colon].allSatisfy(isLower) && authority[..<slash].allSatisfy { isLower($0) || $0 == 0x2E }
        return isPlain && !bytes[slash...].contains(UInt8(ascii: "#"))
    }

    private static func isLower(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 || ASCII.isDigit(byte) || byte == 0x2D }
}
