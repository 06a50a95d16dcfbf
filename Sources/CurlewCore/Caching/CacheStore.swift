/// Storage for a cache's responses: in memory, on disk, or in another process.
///
/// The cache decides which responses are stored, how long they are useful and when they are served. A store keeps what
/// it is given, finds it again, and may evict anything at any time.
///
/// **Faults are misses.** No method of a store throws, because a cache must never cause a request to fail. A store that
/// is broken, full or slower than its own limit finds nothing and keeps nothing. It counts and reports its faults by
/// its own means.
///
/// **Nothing torn.** Every entry that `entries(for:)` returns was committed as a whole. A store outside the process
/// keeps checksums of the encoded entry and of the pieces of the body; it treats a mismatch as a miss and removes the
/// entry.
///
/// **Threads.** All methods are called from many tasks concurrently. None may block its thread: a store that reads
/// files or sockets does so elsewhere. If the calling task is cancelled, a store may return early with an empty result.
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
    /// Returns every variant that is stored under a key, in any order. Expired entries are included, because the cache
    /// may validate them. Comparing digests of keys is not enough: an entry's own `key` must equal `key`.
    ///
    /// Finding an entry does not count as a use; reading its body does. A server may vary its responses without limit,
    /// and every lookup examines all variants. A store should therefore bound the variants of one key. The stores of
    /// Curlew keep 16.
    func entries(for key: CacheKey) async -> [StoredEntry]

    /// Begins to store a response. Returns `nil` if the store declines. `expectedSize` is the size of the body, if
    /// known, so that a store can decline a large body before its first byte.
    ///
    /// The store may drop the entry at `entry.lifetime.usableUntil`, or later if it `canBeValidated`.
    func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)?

    /// Replaces the head and the lifetime of an entry that the server has validated; the body stays. Does nothing if
    /// the entry with this `id` is not stored, even if another one with its key and variant is.
    func update(_ entry: CacheEntry) async

    /// Removes the entry with this `id`, and no other.
    func remove(_ entry: CacheEntry) async

    /// Removes every variant of a URL (`CacheKey.url`) in every partition.
    func removeAll(url: String) async

    /// Removes all entries of an origin: those whose `key.url` begins with `origin`, which ends with a slash
    /// (`https://example.org/`). Servers request this with `Clear-Site-Data`.
    ///
    /// The default implementation removes everything, which a store may always do.
    func removeAll(origin: String) async

    /// Removes all entries.
    func removeAll() async

    /// The number of bytes that the entries occupy, bodies and heads.
    func size() async -> Int64

    /// Called before a request for `key` is sent, because no stored response can answer it.
    ///
    /// A store that several processes share can ensure that only one of them sends the request. It returns `true` if
    /// this process is to send it: no other process is doing so, or the wait for the other process took too long. It
    /// returns `false` once the request of another process has stored a response; the cache then looks it up. The cache
    /// asks only about requests whose responses are likely to be stored, and once for all requests of the process that
    /// wait for one response. Each `true` is followed by exactly one `fetchEnded`, unless the process ends first: a
    /// claim therefore needs an expiry.
    ///
    /// If the request is cancelled or reaches a time limit, the calling task is cancelled. The store must then return
    /// soon, with either value.
    ///
    /// The default implementation returns `true` at once.
    func claimFetch(of key: CacheKey) async -> Bool

    /// Ends a claim. `stored` tells whether there is an entry for other processes. Called as soon as it is certain that
    /// nothing will be stored, even if the response is still being received. After `false`, other processes need not
    /// wait for each other either, and the store may remember for a while that this key is not worth a claim.
    func fetchEnded(of key: CacheKey, stored: Bool) async
}

/// A store whose `claimFetch` returns at once. The cache need not enforce the request's time limits while it waits for
/// a claim.
package protocol UnclaimedStore: CacheStore {}

/// A store in memory that can be searched synchronously.
package protocol ImmediateStore: AnyObject, UnclaimedStore {
    /// Returns the result of `entries(for:)` without suspending.
    func entriesAtHand(for key: CacheKey) -> [StoredEntry]

    /// The largest body that the store accepts, in bytes. The cache collects a body up to this size and passes it to
    /// the writer as a whole.
    var maximumEntrySize: Int { get }
}

extension CacheStore {
    public func removeAll(origin: String) async { await removeAll() }

    public func claimFetch(of key: CacheKey) async -> Bool { true }

    public func fetchEnded(of key: CacheKey, stored: Bool) async {}
}
