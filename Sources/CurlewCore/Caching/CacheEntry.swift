/// The description of a stored response: everything but its body.
///
/// A store need not understand it. It keeps `encoded` next to the body and reads `key`, `variant`, `id` and `lifetime`.
public struct CacheEntry: Sendable, Equatable {
    /// The unique name of this response: 32 hexadecimal digits, usable as a file name. A validation keeps the name,
    /// because the body stays; a new response gets a new one.
    public let id: String
    /// The key of the entry.
    public let key: CacheKey
    /// Distinguishes the variants of one key: a digest of the request fields that `Vary` names, empty without such
    /// fields. A store has one entry per key and variant: the one that was committed last.
    public let variant: String
    /// The names of the fields that `Vary` lists, in lower case and sorted.
    package let varyingFields: [String]
    /// The head of the response and its times.
    package var response: StoredResponse
    /// The time for which the entry is fresh, and for which it may be served stale.
    public var lifetime: CacheLifetime

    /// Creates an entry.
    package init(
        id: String,
        key: CacheKey,
        variant: String = "",
        varyingFields: [String] = [],
        response: StoredResponse,
        lifetime: CacheLifetime
    ) {
        self.id = id
        self.key = key
        self.variant = variant
        self.varyingFields = varyingFields
        self.response = response
        self.lifetime = lifetime
    }
}
