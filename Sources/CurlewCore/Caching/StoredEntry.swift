/// What a store has found: an entry and its body.
public struct StoredEntry: Sendable {
    /// The entry without its body.
    public var entry: CacheEntry
    /// The body, which is read when it is wanted.
    public var body: any CacheBody

    /// Creates a stored entry.
    public init(entry: CacheEntry, body: any CacheBody) {
        self.entry = entry
        self.body = body
    }
}
