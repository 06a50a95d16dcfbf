package import Foundation

/// What a cache has to know of a request. One reference, because the run and what it stores both keep it.
package final class CacheRequest: Sendable {
    package let key: CacheKey
    package let method: HTTPMethod
    private let own: HTTPHeaders
    private let defaults: HTTPHeaders?
    package let control: CacheControl
    package let policy: CachePolicy
    /// Whether the body is wanted without its content coding.
    package let decodesContent: Bool
    /// Whether it is sent with credentials, in a field or in what a transport adds.
    package let hasCredentials: Bool
    /// Whether some of them stand in no field and not in the key either: the fields that a response varies by do not tell
    /// whose it is.
    package let hidesCredentials: Bool
    package let hasRange: Bool
    /// Whether the caller asks under a condition of its own that a cache may answer (RFC 9111, 4.3.2).
    package let hasCondition: Bool
    /// Whether there is a condition that only the server can judge.
    package let hasPrecondition: Bool
    /// Whether it is a `GET` without any wish of its own, as nearly all are: its response may be that of another request that
    /// is sent at the same time.
    package let isPlain: Bool

    /// `defaults` go out where `headers` does not have their names. `fields`: what of both concerns a cache, where that is known.
    package init(
        url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        defaults: HTTPHeaders? = nil,
        policy: CachePolicy = .useProtocol,
        decodesContent: Bool = true,
        partition: String = "",
        hasCredentials: Bool = false,
        hidesCredentials: Bool = false,
        fields: RequestCacheFields? = nil
    ) {
        let fields = fields ?? RequestCacheFields(headers, defaults)
        self.hasCredentials = hasCredentials || fields.hasCredentials
        self.hidesCredentials = hidesCredentials
        hasRange = fields.hasRange
        hasCondition = fields.hasCondition
        hasPrecondition = fields.hasPrecondition
        key = CacheKey(url: url, partition: partition)
        self.method = method
        (own, self.defaults) = (headers, defaults)
        control = fields.hasControl ? CacheControl(headers.completed(by: defaults)) : CacheControl()
        self.policy = policy
        self.decodesContent = decodesContent
        isPlain = method == .get && policy == .useProtocol && !fields.concernsCaches && control.isEmpty
    }

    /// All fields that go out. Few requests need them in one list.
    package var headers: HTTPHeaders { own.completed(by: defaults) }
}

/// Which fields of a request concern a cache. Most requests have none of them, and one pass tells.
package struct RequestCacheFields: Sendable {
    /// Whether a field has a secret name: `Authorization`, `Cookie`, `X-Api-Key`, ….
    package private(set) var hasCredentials = false
    package private(set) var hasHost = false
    fileprivate var hasRange = false
    fileprivate var hasCondition = false
    fileprivate var hasPrecondition = false
    fileprivate var hasControl = false

    /// Credentials and the host have their place in the key.
    fileprivate var concernsCaches: Bool { hasRange || hasCondition || hasPrecondition }

    /// `secrets` are names of further fields with credentials.
    package init(_ headers: HTTPHeaders, _ defaults: HTTPHeaders?, secrets: [String] = []) {
        add(headers, secrets)
        if let defaults { add(defaults, secrets) }
    }

    private mutating func add(_ headers: HTTPHeaders, _ secrets: [String]) {
        headers.forEachName { name in
            let name = ASCII.lowercased(name)
            switch name {
            case "range": hasRange = true
            case "if-match", "if-unmodified-since": hasPrecondition = true
            case "if-none-match", "if-modified-since": hasCondition = true
            case "cache-control", "pragma": hasControl = true
            case "host": hasHost = true
            default: break
            }
            if !hasCredentials { hasCredentials = Self.isSecret(name, or: secrets) }
        }
    }

    /// Whether a field, by its name in lower case, tells one user from others.
    package static func isSecret(_ name: String, or secrets: [String]) -> Bool {
        if secrets.contains(where: { ASCII.equalsIgnoringCase($0, name) }) { return true }
        switch name {
        // Those of nearly all requests: the list of secrets is long.
        case "accept", "accept-encoding", "accept-language", "user-agent": return false
        default: return SecretNames.containsField(name)
        }
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

    /// As nearly all are: `http` or `https`, lower case up to the path, which is there, no port that may be the scheme's own, no
    /// fragment.
    private static func isNormal(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable(isNormal) ?? false
    }

    private static func isNormal(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = endOfScheme(bytes) else { return false }
        var index = start
        while index < bytes.count, isOfHost(bytes[index]) { index &+= 1 }
        if index < bytes.count, bytes[index] == UInt8(ascii: ":") {
            guard let end = endOfPort(bytes, from: index + 1) else { return false }
            index = end
        }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "/") else { return false }
        while index < bytes.count, bytes[index] != UInt8(ascii: "#") { index &+= 1 }
        return index == bytes.count
    }

    /// Behind `http://` or `https://`.
    private static func endOfScheme(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard bytes.count > 8, bytes[0] == UInt8(ascii: "h"), bytes[1] == UInt8(ascii: "t"),
            bytes[2] == UInt8(ascii: "t"),
            bytes[3] == UInt8(ascii: "p")
        else { return nil }
        let colon = bytes[4] == UInt8(ascii: "s") ? 5 : 4
        guard bytes[colon] == UInt8(ascii: ":"), bytes[colon + 1] == UInt8(ascii: "/"),
            bytes[colon + 2] == UInt8(ascii: "/")
        else { return nil }
        return colon + 3
    }

    /// Behind a number that stays as it is: without zeros before it, and of no scheme's own.
    private static func endOfPort(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var (index, number) = (start, 0)
        while index < bytes.count, index < start + 5, ASCII.isDigit(bytes[index]) {
            number = number * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            if number == 0 { return nil }
            index += 1
        }
        guard number > 0, number <= 65_535, number != 443, number != 80 else { return nil }
        return index
    }

    /// A small letter, a digit, a hyphen or a dot.
    private static func isOfHost(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte &- 0x2D < 2 }
}
