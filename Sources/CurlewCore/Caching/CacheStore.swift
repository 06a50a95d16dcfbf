public import Foundation

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

extension CacheStore {
    public func removeAll(origin: String) async { await removeAll() }

    public func claimFetch(of key: CacheKey) async -> Bool { true }

    public func fetchEnded(of key: CacheKey, stored: Bool) async {}
}

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

/// The body of a stored response. Creating one is cheap: bytes are read on demand.
///
/// A body keeps what it needs (a file descriptor, the bytes themselves) until it is released, so that a reader can
/// finish an entry that is replaced or removed meanwhile. If a store cannot promise this, the reader throws.
public protocol CacheBody: Sendable {
    /// The number of bytes in the body.
    var size: Int64 { get }

    /// Begins to read a part of the body. `range` is within `0..<size`. Returns `nil` if the body is gone or damaged,
    /// which counts as a miss.
    func reader(of range: Range<Int64>) async -> (any CacheReader)?
}

/// Reads a stored body from front to back, on behalf of one consumer.
public protocol CacheReader: AnyObject, Sendable {
    /// Returns the next bytes of the range, or `nil` at its end. A chunk is never empty. Its size is up to the store:
    /// bytes in memory may be one chunk; 16 KiB to 1 MiB suit files and sockets.
    ///
    /// Called by one task at a time, and not again after `nil` or an error. Releasing a reader early abandons the read.
    /// It throws if the body turns out to be damaged or gone. The request then fails, because its response has already
    /// begun; therefore a store must verify bytes before it returns them, not afterwards.
    func next() async throws(CurlewError) -> Data?
}

/// A body in memory.
public struct DataCacheBody: CacheBody {
    private let data: Data

    /// Creates a body that consists of these bytes.
    public init(_ data: Data) { self.data = data }

    public var size: Int64 { Int64(data.count) }

    public func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
        let start = data.startIndex
        return DataCacheReader(data[(start + Int(range.lowerBound))..<(start + Int(range.upperBound))])
    }
}

/// Receives the body of a response that is being stored.
///
/// Called by one task at a time: `write` any number of times, then `commit` or `drop` once. The response must be
/// invisible to readers before `commit` and complete afterwards, even if the process ends, the disk is full, or another
/// writer commits an entry with the same key and variant (the last commit wins). A writer that is released without
/// either call counts as dropped.
public protocol CacheWriter: AnyObject, Sendable {
    /// Writes the next bytes of the body; `chunk` is never empty. Returns `false` if the store will not keep the entry
    /// (no room, too large, a fault). `drop` is then the only call that follows.
    func write(_ chunk: Data) async -> Bool

    /// Completes the body. The entry replaces the one with the same key and variant, if there is one. Returns `false`
    /// if the entry was not stored.
    func commit() async -> Bool

    /// Discards the entry.
    func drop() async
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

// SAFETY: `CacheReader` requires that one task at a time calls `next()`, so access to `rest` never overlaps.
private final class DataCacheReader: CacheReader, @unchecked Sendable {
    private var rest: Data?

    init(_ data: Data) { rest = data.isEmpty ? nil : data }

    func next() async throws(CurlewError) -> Data? {
        defer { rest = nil }
        return rest
    }
}
