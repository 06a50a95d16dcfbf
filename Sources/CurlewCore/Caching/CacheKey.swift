/// What a stored response is looked up by: the URL of the request, and whose response it is.
///
/// Responses of one key that differ in the fields that `Vary` names are its variants (`CacheEntry.variant`).
public struct CacheKey: Sendable, Hashable {
    /// The absolute URL without its fragment, normalised as far as every server has to treat the forms alike.
    public let url: String
    /// Keeps apart responses of one URL that must not be shared: a digest of the session's settings that decide which
    /// servers may answer, of the proxy and the `Host` field and, in a private cache, of the credentials. Empty if the
    /// settings are the usual ones and the request has none of these.
    public let partition: String
    // A request asks for its key several times.
    private let hash: Int

    /// Creates a key of its parts. The cache makes the keys of requests; a store makes one only of what it has stored.
    public init(url: String, partition: String = "") {
        self.url = url
        self.partition = partition
        var hasher = Hasher()
        hasher.combine(url)
        if !partition.isEmpty { hasher.combine(partition) }
        hash = hasher.finalize()
    }

    public static func == (lhs: CacheKey, rhs: CacheKey) -> Bool {
        lhs.hash == rhs.hash && lhs.url == rhs.url && lhs.partition == rhs.partition
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// Both parts as one text, for stores that have one string or digest a key. Neither part has a line feed.
    public var text: String { partition + "\n" + url }

    /// What the URLs of its origin begin with: `https://example.org/`.
    package var origin: String { Self.origin(of: url) }

    package static func origin(of url: String) -> String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return url }
        let authority = bytes[colon...].dropFirst(3)
        let end = authority.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? bytes.endIndex
        return url[..<end] + "/"
    }
}
