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
