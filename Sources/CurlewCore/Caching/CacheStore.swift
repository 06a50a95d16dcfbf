/// Keeps responses for a cache: in memory, on disk, or in another process.
///
/// The cache decides what is stored, for how long it is of use and when it is served. A store keeps what it is given until
/// it wants the room, and finds it again. It may forget anything at any time.
///
/// **Faults are misses.** No method of a store throws, because a cache must never be the reason why a request fails. A store
/// that is broken, full or slower than its own limit finds nothing and keeps nothing. It counts and reports its faults in
/// its own way.
///
/// **Nothing torn.** What `entries(for:)` finds was committed as a whole. A store outside the process keeps checksums over
/// the encoded entry and over the pieces of the body, takes what does not agree with them for a miss, and removes it.
///
/// **Threads.** All methods are called from many tasks at once. None may block its thread: a store that reads files or
/// sockets does it elsewhere. Where the calling task is cancelled a store may return early, with nothing.
///
///     // The least a store has to do:
///     func entries(for key: CacheKey) async -> [StoredEntry]
///     func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)?
///     func update(_ entry: CacheEntry) async
///     func remove(_ entry: CacheEntry) async
///     func removeAll(url: String) async
///     func removeAll() async
///     func size() async -> Int64
public protocol CacheStore: Sendable {
    /// Every variant that is stored under a key, in any order, also those whose time is over (the cache may have them
    /// validated). Comparing keys by a digest alone is not enough: an entry's own `key` must be the key.
    ///
    /// Finding an entry is not using it; reading its body is. A server may vary its responses without end, and all variants
    /// are looked through: a store should bound how many it keeps for one key. Those of Curlew keep 16.
    func entries(for key: CacheKey) async -> [StoredEntry]

    /// Begins to store a response; nil where the store does not want it. `expectedSize` is the size of its body where that
    /// is known, so that what is too large can be refused before its first byte.
    ///
    /// The store may have dropped the entry at `entry.lifetime.usableUntil`, or later where it `canBeValidated`.
    func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)?

    /// The server has validated an entry: head and lifetime are new, the body is the same. Where the entry with this `id` is
    /// not stored any more, another one has taken its place or none, and nothing is to be changed.
    func update(_ entry: CacheEntry) async

    /// Removes the entry with this `id`, and no other.
    func remove(_ entry: CacheEntry) async

    /// Removes every variant in every partition that is stored for a URL (`CacheKey.url`).
    func removeAll(url: String) async

    /// Removes everything that is stored for an origin: entries whose `key.url` begins with `origin`, which ends with a
    /// slash (`https://example.org/`). Servers ask for it by `Clear-Site-Data`.
    ///
    /// The default removes everything, which a store may always do.
    func removeAll(origin: String) async

    /// Removes everything.
    func removeAll() async

    /// How many bytes the entries take up, bodies and heads.
    func size() async -> Int64

    /// A request for `key` is about to be sent, because no stored response can answer it.
    ///
    /// A store that several processes share can see to it that one of them sends it. It answers true where this process is
    /// to send it: no other process does so, or it has waited for the other long enough. It answers false once the request of
    /// another process has stored a response: the cache then looks for it. It is asked for requests whose responses are
    /// likely to be stored, once for all of the process that wait for the same response. Every true is followed by one
    /// `fetchEnded`, unless the process ends before: a claim has to run out by itself.
    ///
    /// The request's own reader and time limits end its wait by cancelling the calling task: the store then returns soon,
    /// whatever it answers.
    ///
    /// The default is true at once.
    func claimFetch(of key: CacheKey) async -> Bool

    /// What was claimed is over: `stored` tells whether there is an entry for others now. It is called as soon as it is known
    /// that nothing will be stored, while the response may still be on its way. Where there is no entry, others need not
    /// wait for each other either, and the store may remember for a while that this key is not worth a claim.
    func fetchEnded(of key: CacheKey, stored: Bool) async
}

/// A store that answers `claimFetch` at once, so that nothing has to watch over it.
package protocol UnclaimedStore: CacheStore {}

/// A store whose entries are at hand, so that nothing has to wait for a lookup.
package protocol ImmediateStore: AnyObject, UnclaimedStore {
    /// The same as `entries(for:)`.
    func entriesAtHand(for key: CacheKey) -> [StoredEntry]

    /// Most bytes of a body. It is collected where it will stay, and given to the writer as a whole.
    var maximumEntrySize: Int { get }
}

extension CacheStore {
    public func removeAll(origin: String) async { await removeAll() }

    public func claimFetch(of key: CacheKey) async -> Bool { true }

    public func fetchEnded(of key: CacheKey, stored: Bool) async {}
}
