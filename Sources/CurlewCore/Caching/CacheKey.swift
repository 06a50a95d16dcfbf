package import Foundation

/// The lookup key of a stored response: the URL of the request and a partition.
///
/// Responses with one key that differ in the fields that `Vary` names are variants of each other
/// (`CacheEntry.variant`).
public struct CacheKey: Sendable, Hashable {
    // The first property, because `==` compares the properties in order.
    private let hash: Int
    /// The absolute URL without its fragment, normalised only in ways that every server must treat alike.
    public let url: String
    /// Separates responses for one URL that must not be shared. The partition is a digest of the session settings that
    /// determine which servers may answer, of the proxy and the `Host` field and, in a private cache, of the
    /// credentials. Empty if the settings are the defaults and the request has none of these.
    public let partition: String

    /// Creates a key from its parts. The cache creates the keys of requests; a store only recreates keys of entries
    /// that it holds.
    public init(url: String, partition: String = "") {
        self.url = url
        self.partition = partition
        var hasher = Hasher()
        hasher.combine(url)
        if !partition.isEmpty { hasher.combine(partition) }
        hash = hasher.finalize()
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// Both parts as one text, for stores that use one string or digest per key. Neither part contains a line feed.
    public var text: String { partition + "\n" + url }

    /// The prefix that all URLs of the key's origin share: `https://example.org/`.
    package var origin: String { Self.origin(of: url) }

    package static func origin(of url: String) -> String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return url }
        let authority = bytes[colon...].dropFirst(3)
        let end = authority.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? bytes.endIndex
        return url[..<end] + "/"
    }
}

extension CacheKey {
    /// Creates the key of a request: scheme and host in lower case, no default port, at least `/` as the path, no
    /// fragment.
    package init(url: URL, partition: String = "") { self.init(url: Self.text(of: url), partition: partition) }

    /// Returns the `CacheKey.url` of a URL.
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

    /// Whether the URL needs no normalisation: `http` or `https`, lower case up to a path that is not empty, no port
    /// that might be a default, no fragment.
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

    /// The index after `http://` or `https://`; `nil` if the URL begins with neither.
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

    /// The index after a port that needs no normalisation: no leading zeros and not the default of either scheme. `nil`
    /// for any other port.
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

    /// A lower-case letter, a digit, a hyphen or a dot.
    private static func isOfHost(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte &- 0x2D < 2 }
}
