public import Foundation

/// The time for which an entry is useful. The cache computes it, and again after each validation; a store only reads
/// it.
public struct CacheLifetime: Sendable, Hashable {
    /// The response is served without asking the server until this date.
    public package(set) var freshUntil: Date
    /// The response may be served stale until this date (`stale-while-revalidate`, `stale-if-error`). Never before
    /// `freshUntil`. A store with expiry times, such as Redis, uses this date.
    public package(set) var usableUntil: Date
    /// Whether the response has an entity tag or a modification date. Such an entry is worth keeping after
    /// `usableUntil`: the server may confirm it, and its body need not be transferred again.
    public package(set) var canBeValidated: Bool

    /// Creates a lifetime. `usableUntil` is raised to `freshUntil` if it is earlier.
    package init(freshUntil: Date, usableUntil: Date, canBeValidated: Bool) {
        self.freshUntil = freshUntil
        self.usableUntil = max(freshUntil, usableUntil)
        self.canBeValidated = canBeValidated
    }
}
