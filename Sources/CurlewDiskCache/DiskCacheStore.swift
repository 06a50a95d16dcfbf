public import CurlewCore
internal import CurlewLocks
public import Foundation

/// A cache store in a directory. Later processes find its responses, and several processes can use it at once.
///
///     let store = try DiskCacheStore(directory: .cachesDirectory.appending(path: "my-program"))
///
/// A process that ends at any moment, a full disk and damaged files cost entries, but never lead to a wrong or torn
/// response. Every entry and every piece of a body has a checksum; what does not match is a miss and is removed.
/// `faults` counts such cases.
///
/// The files are accessible to this user only (0600), and so are the directories that the store creates (0700). Header
/// fields whose names indicate secrets, such as `Set-Cookie` and `Authorization`, are not written. Bodies are written
/// as they are.
///
/// Small responses that were looked up stay in memory, up to about 4 MiB. They are answered from there until this or
/// another process changes the index, be it only to record uses.
///
/// The directory must be on a local file system: SQLite's index and locks do not work over most networks.
public final class DiskCacheStore: CacheStore, UnclaimedStore {
    /// The size of the largest body that is stored in the index. SQLite reads larger ones no faster than the file
    /// system.
    static let inlineLimit = 16 << 10

    let folder: CacheFolder
    let counts: FaultCounts
    private let maximumSize: Int64
    private let maximumEntrySize: Int64
    private let clock: UseClock
    private let uses: UseList
    private let writing: IndexLane
    private let lookups: [LookupLane]
    private let failedRemovals = FailedRemovals()

    /// Opens a store, or creates it if there is none. Takes a few milliseconds, regardless of its contents.
    ///
    /// - Parameters:
    ///   - directory: A directory for the store alone. If it contains other files, no store is created in it.
    ///   - maximumSize: The maximum number of bytes for all entries: index, heads and bodies. Responses that are being
    ///     stored do not count.
    ///   - maximumEntrySize: Larger responses are not stored.
    ///   - create: Whether to create a store if there is none. Otherwise that is `destinationMissing`.
    /// - Throws: `destinationExists` if the directory contains files that no cache has created; they are not touched.
    ///   If the directory cannot be created or written: `moveFailed` (not permitted, read-only, locked by another
    ///   process for five seconds; it or a file in it belongs to another user, or other users may write a file in it),
    ///   `destinationMissing` (a file is in the way) or `diskFull`. A damaged index is no error, and neither is a
    ///   directory of this user that others may write: their permission is removed.
    public convenience init(
        directory: URL,
        maximumSize: Int64 = 512 << 20,
        maximumEntrySize: Int64 = 64 << 20,
        create: Bool = true
    ) throws(CurlewError) {
        try self.init(
            directory: directory,
            maximumSize: maximumSize,
            maximumEntrySize: maximumEntrySize,
            create: create
        ) { Date() }
    }

    /// Creates a store with the caller's clock. `lockPatience` is the time to wait for other processes that lock the
    /// directory.
    package init(
        directory: URL,
        maximumSize: Int64,
        maximumEntrySize: Int64,
        create: Bool = true,
        lockPatience: Duration = .seconds(5),
        now: @escaping @Sendable () -> Date
    ) throws(CurlewError) {
        let (folder, counts) = (CacheFolder(directory), FaultCounts())
        // Opening creates missing files and replaces a damaged index.
        try folder.expectStore(orRoomForOne: create)
        self.folder = folder
        self.counts = counts
        self.maximumSize = maximumSize
        self.maximumEntrySize = min(maximumEntrySize, maximumSize)
        writing = IndexLane("index", folder, counts, lockPatience: lockPatience)
        lookups = (1...2).map { LookupLane("lookups.\($0)", folder, counts, lockPatience: lockPatience) }
        do throws(SystemFault) {
            let last = try writing.open { (index) throws(DatabaseFault) in try index.lastUse() }
            clock = UseClock(last: last, now: now)
        } catch {
            throw error.error(folder)
        }
        uses = UseList(clock, writing)
        // An index that replaced a damaged one lacks its entries, so their bodies are orphans.
        writing.whenReopened { [folder, weak writing = writing] in
            if let writing { OrphanCollection(folder: folder, lane: writing).start() }
        }
        writing.enqueue { index throws(DatabaseFault) in try index.recount() }
        OrphanCollection(folder: folder, lane: writing).start()
    }

    deinit {
        let uses = uses
        writing.enqueue { (index) throws(DatabaseFault) in try uses.write(to: index) }
    }

    /// The faults since the store was opened, by kind.
    public var faults: DiskCacheFaults { counts.current }

    // MARK: Looking up

    public func entries(for key: CacheKey) async -> [StoredEntry] {
        await failedRemovals.entries(for: key, startRetry: { Task { await retryRemovals() } }, lookUp: stored)
    }

    private func stored(_ key: CacheKey) async -> [StoredEntry] {
        // A key always uses the same lane, which knows the key's rows or has their pages in its connection's cache.
        switch await lookups[abs(key.hashValue % lookups.count)].rows(of: key) {
        case .success(let rows):
            return rows.compactMap { row in
                if let fault = row.fault { handle(fault, of: row.found) }
                return row.entry(uses) { [weak self] in self?.handle($0, of: row.found) }
            }
        case .failure:
            counts.count(\.failedReads)
            return []
        }
    }

    public func size() async -> Int64 {
        let total = await reading.run { (index) throws(DatabaseFault) in try index.total() }
        return (try? total.get()) ?? 0
    }

    // MARK: Storing

    public func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)? {
        let entry = entry.withoutCredentials
        let limit = maximumEntrySize - Int64(entry.encoded.count)
        guard let id = EntryID(entry.id), max(0, expectedSize ?? 0) <= limit else { return nil }
        return DiskCacheWriter(self, entry, id, limit: limit, expectedSize: expectedSize)
    }

    /// Inserts the row of a complete body, which is in `file` unless it is small. Returns false if the disk has no room
    /// for the entry or the index was replaced meanwhile.
    func insert(_ row: IndexRow, file: NewBodyFile?) async -> Bool {
        let (uses, use, now, maximumSize) = (uses, clock.next(), clock.time, maximumSize)
        guard row.cost <= maximumSize, await mayStore(row.entry.key) else { return false }
        let inserted = await writing.run { (index) throws(DatabaseFault) -> (freed: FreedFiles, hasRow: Bool) in
            try uses.write(to: index)
            let freed = try index.insert(row, use: use, now: now, maximumSize: maximumSize)
            guard let file else { return (freed, true) }
            // A clearing removes the index first, and then the body files whose locks are free. If it ran before the
            // release, it skipped this file, but the index has moved. If it runs after the release, it removes this
            // file.
            file.release()
            return (freed, !index.database.hasMoved)
        }
        removeFiles(inserted.map { $0.freed })
        return (try? inserted.get().hasRow) ?? false
    }

    public func update(_ entry: CacheEntry) async {
        guard let id = EntryID(entry.id) else { return }
        let (entry, use) = (entry.withoutCredentials, clock.next())
        let done = await writing.run { (index) throws(DatabaseFault) in try index.update(entry, id: id, use: use) }
        if case .failure = done { counts.count(\.failedWrites) }
    }

    // MARK: Removing

    public func remove(_ entry: CacheEntry) async { await remove(CacheRemoval(entry)) }

    public func removeAll(url: String) async { await remove(.url(url)) }

    public func removeAll(origin: String) async { await remove(.origin(origin)) }

    public func removeAll() async { await remove(.everything) }

    private func remove(_ removal: CacheRemoval) async {
        if await !isDone(removal) { await failedRemovals.add(removal) }
    }

    /// Carries out a removal. Returns false if it failed.
    private func isDone(_ removal: CacheRemoval) async -> Bool {
        switch removal {
        case .entry(let id, _, _):
            guard let id = EntryID(id) else { return true }
            return removeFiles(await writing.run { (index) throws(DatabaseFault) in try index.remove(id: id.data) })
        case .url(let url):
            return removeFiles(await writing.run { (index) throws(DatabaseFault) in try index.remove(url: url) })
        case .origin(let origin):
            return removeFiles(await writing.run { (index) throws(DatabaseFault) in try index.remove(origin: origin) })
        case .everything:
            let isDone = await writing.clear()
            if !isDone { counts.count(\.failedWrites) }
            return isDone
        }
    }

    private func retryRemovals() async { await failedRemovals.retry(isDone) }

    private func mayStore(_ key: CacheKey) async -> Bool {
        let mayStore = await failedRemovals.mayStore(key, retry: retryRemovals)
        if !mayStore { counts.count(\.failedWrites) }
        return mayStore
    }

    /// Handles a row that cannot be read. It is removed only if it is known to be damaged or its file is missing.
    private func handle(_ fault: BodyFault, of row: FoundRow) {
        switch fault {
        case .damaged, .missing: remove(row)
        case .unavailable: counts.count(\.failedReads)
        }
    }

    /// Removes a damaged row. If the row was replaced or removed since the lookup, nothing is counted; if several
    /// lookups meet the same damage, one of them counts it.
    private func remove(_ row: FoundRow) {
        let (folder, counts) = (folder, counts)
        writing.enqueue { (index) throws(DatabaseFault) in
            let freed = try index.remove(id: row.id)
            guard freed.rows > 0 else { return }
            counts.count(\.damagedEntries)
            for id in freed.ids { folder.removeBody(id) }
        }
    }

    /// Removes the files that a change has left. Returns whether the change succeeded.
    @discardableResult
    private func removeFiles(_ freed: Result<FreedFiles, DatabaseFault>) -> Bool {
        switch freed {
        case .success(let files):
            let folder = folder
            guard !files.ids.isEmpty else { return true }
            Lane.nextForBodies().enqueue { for id in files.ids { folder.removeBody(id) } }
            return true
        case .failure:
            counts.count(\.failedWrites)
            return false
        }
    }

    /// The lane for reading other than lookups.
    var reading: IndexLane { lookups[0].index }
}

/// A response in a `DiskCacheStore`.
public struct DiskCacheItem: Sendable {
    /// The stored response without its body.
    public let entry: CacheEntry
    /// The size of the body in bytes.
    public let bodySize: Int64

    /// The row's number in the index. Newer rows have greater numbers.
    let number: Int64
}

extension DiskCacheStore {
    /// Lists the stored responses in pages, the newest first. Listing an entry does not count as a use.
    ///
    ///     var last: DiskCacheItem?
    ///     while case let items = try await store.contents(after: last), !items.isEmpty {
    ///         for item in items { print(item.entry.key.url, item.bodySize) }
    ///         last = items.last
    ///     }
    ///
    /// Damaged entries are omitted. Bodies are not checked: an entry with a damaged body is included.
    ///
    /// - Parameters:
    ///   - last: The last item of the previous page. `nil` begins with the newest item.
    ///   - limit: The maximum number of items in a page.
    /// - Throws: `fileUnreadable` if the index cannot be read.
    public func contents(
        after last: DiskCacheItem? = nil,
        limit: Int = 256
    ) async throws(CurlewError) -> [DiskCacheItem] {
        let found = await reading.run { (index) throws(DatabaseFault) in
            try index.items(before: last?.number ?? .max, limit: limit)
        }
        switch found {
        case .success(let items): return items
        case .failure(let fault):
            throw CurlewError(
                .fileUnreadable,
                phase: .file,
                reason: "The cache in \(folder.path) cannot be read: SQLite: \(fault)"
            )
        }
    }
}
