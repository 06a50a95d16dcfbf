/// What a store has found: an entry and its body.
public struct StoredEntry: Sendable {
    /// Everything but the body.
    public var entry: CacheEntry
    /// The body, which is read when it is wanted.
    public var body: any CacheBody

    /// Makes one of its parts.
    public init(entry: CacheEntry, body: any CacheBody) {
        self.entry = entry
        self.body = body
    }
}
