public import Foundation

/// How long an entry is of use. The cache computes it, again after each validation; a store only reads it.
public struct CacheLifetime: Sendable, Hashable {
    /// Until then the response is served without asking the server.
    public var freshUntil: Date
    /// Until then the response may be served stale (`stale-while-revalidate`, `stale-if-error`): never before `freshUntil`.
    /// A store that gives each entry an end, as Redis does, takes this one.
    public var usableUntil: Date
    /// Whether the response has an entity tag or a date. Such an entry is worth keeping after `usableUntil`: the server may
    /// answer that it is still right, and then its body need not come again.
    public var canBeValidated: Bool

    /// Creates a lifetime; `usableUntil` is moved to `freshUntil` where it lies before that.
    public init(freshUntil: Date, usableUntil: Date, canBeValidated: Bool) {
        self.freshUntil = freshUntil
        self.usableUntil = max(freshUntil, usableUntil)
        self.canBeValidated = canBeValidated
    }
}
