/// An entry that a store has found, with its body.
public struct StoredEntry: Sendable {
    /// The entry without its body.
    public var entry: CacheEntry
    /// The body, read on demand.
    public var body: any CacheBody

    /// Creates a stored entry.
    public init(entry: CacheEntry, body: any CacheBody) {
        self.entry = entry
        self.body = body
    }
}
