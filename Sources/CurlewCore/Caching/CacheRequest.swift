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
    package let hasRange: Bool
    /// Whether the caller asks under a condition of its own that a cache may answer (RFC 9111, 4.3.2).
    package let hasCondition: Bool
    /// Whether there is a condition that only the server can judge.
    package let hasPrecondition: Bool

    /// `defaults` go out where `headers` does not have their names.
    package init(
        url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        defaults: HTTPHeaders? = nil,
        policy: CachePolicy = .useProtocol,
        decodesContent: Bool = true,
        partition: String = "",
        hasCredentials: Bool = false
    ) {
        let fields = CacheFields(headers, defaults)
        self.hasCredentials = hasCredentials || fields.hasAuthorization
        hasRange = fields.hasRange
        hasCondition = fields.hasCondition
        hasPrecondition = fields.hasPrecondition
        key = CacheKey(url: url, partition: partition)
        self.method = method
        (own, self.defaults) = (headers, defaults)
        control = fields.hasControl ? CacheControl(headers.completed(by: defaults)) : CacheControl()
        self.policy = policy
        self.decodesContent = decodesContent
    }

    /// All fields that go out. Few requests need them in one list.
    package var headers: HTTPHeaders { own.completed(by: defaults) }
}

/// Which fields of a request concern a cache. Most requests have none of them, and one pass tells.
private struct CacheFields {
    var hasAuthorization = false
    var hasRange = false
    var hasCondition = false
    var hasPrecondition = false
    var hasControl = false

    init(_ headers: HTTPHeaders, _ defaults: HTTPHeaders?) {
        add(headers)
        if let defaults { add(defaults) }
    }

    private mutating func add(_ headers: HTTPHeaders) {
        for field in headers {
            let name = field.name
            // The lengths tell nearly all other names apart.
            switch name.utf8.count {
            case 5: hasRange = hasRange || ASCII.equalsIgnoringCase(name, "Range")
            case 8: hasPrecondition = hasPrecondition || ASCII.equalsIgnoringCase(name, "If-Match")
            case 13:
                hasAuthorization = hasAuthorization || ASCII.equalsIgnoringCase(name, "Authorization")
                hasCondition = hasCondition || ASCII.equalsIgnoringCase(name, "If-None-Match")
                hasControl = hasControl || ASCII.equalsIgnoringCase(name, "Cache-Control")
            case 17: hasCondition = hasCondition || ASCII.equalsIgnoringCase(name, "If-Modified-Since")
            case 19: hasPrecondition = hasPrecondition || ASCII.equalsIgnoringCase(name, "If-Unmodified-Since")
            default: break
            }
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

    /// As nearly all are: lower case up to the path, which is there, no port that may be the scheme's own, no fragment.
    private static func isNormal(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable(isNormal) ?? false
    }

    private static func isNormal(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        func skip(while matches: (UInt8) -> Bool) { while index < bytes.count, matches(bytes[index]) { index += 1 } }
        skip(while: isLower)
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return false }
        index += 3
        skip { isLower($0) || $0 == UInt8(ascii: ".") }
        let start = index
        skip { $0 == UInt8(ascii: ":") || ASCII.isDigit($0) }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "/") else { return false }
        return (start == index || isNormal(port: bytes[start..<index])) && !bytes[index...].contains(UInt8(ascii: "#"))
    }

    /// A colon and a number that stays as it is: without zeros before it, and of no scheme's own.
    private static func isNormal(port: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let digits = port.dropFirst()
        guard port.first == UInt8(ascii: ":"), let first = digits.first, first != UInt8(ascii: "0"), digits.count <= 5,
            digits.allSatisfy(ASCII.isDigit)
        else { return false }
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return number <= 65_535 && number != 443 && number != 80
    }

    private static func isLower(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 || ASCII.isDigit(byte) || byte == 0x2D }
}
