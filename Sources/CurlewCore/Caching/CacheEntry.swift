/// Everything about a stored response but its body.
///
/// A store need not understand it. It keeps `encoded` beside the body, and reads `key`, `variant`, `id` and `lifetime`.
public struct CacheEntry: Sendable, Equatable {
    /// Names this response and no other: 32 hexadecimal digits, made when it was stored. A validation keeps it, because the
    /// body stays; a new response has a new one. It can be the name of a file.
    public let id: String
    /// The key of the entry.
    public let key: CacheKey
    /// Tells the variants of one key apart: a digest of the request fields that `Vary` names, empty without such fields.
    /// A store has one entry for a key and a variant: the one that was committed last.
    public let variant: String
    /// The names of those fields, in lower case and sorted.
    public let varyingFields: [String]
    /// The head of the response.
    public var response: StoredResponse
    /// How long the entry is fresh, and how long it may be served stale.
    public var lifetime: CacheLifetime

    /// Creates an entry.
    public init(
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
