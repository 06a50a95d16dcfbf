public import CurlewCore
public import Foundation

/// Keeps responses for a cache in a directory, also for later processes and for several at a time.
///
///     let store = try DiskCacheStore(directory: .cachesDirectory.appending(path: "my-program"))
///
/// The end of a process at any moment, a full disk and damaged files cost entries, and never lead to a wrong or torn answer:
/// every entry and every piece of a body has a checksum, and what does not agree with it is a miss and is removed. What was
/// found is counted in `faults`.
///
/// The files are for this user alone (0600), and so are the directories that the store makes (0700). Fields of responses whose
/// names say that they are secret, such as `Set-Cookie` and `Authorization`, are not written. Bodies are written as they are.
///
/// The directory must be on a local file system: SQLite's index and locks do not work over most networks.
public final class DiskCacheStore: CacheStore, UnclaimedStore {
    /// Up to so many bytes a body lies in the index. More than about this SQLite reads no faster than the file system.
    static let inlineLimit = 16 << 10

    let folder: CacheFolder
    let counts: FaultCounts
    private let maximumSize: Int64
    private let maximumEntrySize: Int64
    private let clock: UseClock
    private let uses: UseList
    private let writing: IndexLane
    private let lookups: [LookupLane]

    /// Opens a store, and makes it where there is none. This takes a few milliseconds, whatever is in it.
    ///
    /// - Parameters:
    ///   - directory: It holds nothing but the store. Where it has other files, no store is made in it.
    ///   - maximumSize: How many bytes the entries take up at most: index, heads and bodies. What is being stored comes on top.
    ///   - maximumEntrySize: Responses with more bytes are not stored.
    ///   - create: Whether a store is made where there is none. Otherwise that is `destinationMissing`.
    /// - Throws: `destinationExists` where the directory has files that no cache has made, which are left as they are. Where the
    ///   directory cannot be made or written: `moveFailed` (not permitted, read-only), `destinationMissing` (a file is in
    ///   the way) or `diskFull`. A damaged index of a store is no error.
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

    /// With a clock of the caller's.
    package init(
        directory: URL,
        maximumSize: Int64,
        maximumEntrySize: Int64,
        create: Bool = true,
        now: @escaping @Sendable () -> Date
    ) throws(CurlewError) {
        let (folder, counts) = (CacheFolder(directory), FaultCounts())
        // Opening makes what is missing, and makes a damaged index anew.
        try folder.expectStore(orRoomForOne: create)
        self.folder = folder
        self.counts = counts
        self.maximumSize = maximumSize
        self.maximumEntrySize = min(maximumEntrySize, maximumSize)
        writing = IndexLane("index", folder, counts)
        lookups = (1...2).map { LookupLane("lookups.\($0)", folder, counts) }
        do throws(SystemFault) {
            let last = try writing.open { (index) throws(DatabaseFault) in try index.lastUse() }
            clock = UseClock(last: last, now: now)
        } catch {
            throw error.error(folder)
        }
        uses = UseList(clock, writing)
        writing.enqueue { index throws(DatabaseFault) in try index.recount() }
        OrphanCollection(folder: folder, lane: writing).start()
    }

    deinit {
        let uses = uses
        writing.enqueue { (index) throws(DatabaseFault) in try uses.write(to: index) }
    }

    /// What went wrong since the store was opened.
    public var faults: DiskCacheFaults { counts.current }

    // MARK: Looking up

    public func entries(for key: CacheKey) async -> [StoredEntry] {
        // One key always has the same lane, so that its pages are where it looks.
        switch await lookups[abs(key.hashValue % lookups.count)].rows(of: key) {
        case .success(let rows):
            return rows.compactMap { row in
                if row.isDamaged { remove(damaged: row.found) }
                return row.entry(uses) { [weak self] in self?.remove(damaged: row.found) }
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

    /// A body is complete. False where the disk has no room for its entry.
    func insert(_ row: IndexRow) async -> Bool {
        let (uses, use, now, maximumSize) = (uses, clock.next(), clock.time, maximumSize)
        guard row.cost <= maximumSize else { return false }
        let freed = await writing.run { (index) throws(DatabaseFault) in
            try uses.write(to: index)
            return try index.insert(row, use: use, now: now, maximumSize: maximumSize)
        }
        return removeFiles(freed)
    }

    public func update(_ entry: CacheEntry) async {
        guard let id = EntryID(entry.id) else { return }
        let (entry, use) = (entry.withoutCredentials, clock.next())
        let done = await writing.run { (index) throws(DatabaseFault) in try index.update(entry, id: id, use: use) }
        if case .failure = done { counts.count(\.failedWrites) }
    }

    // MARK: Removing

    public func remove(_ entry: CacheEntry) async {
        guard let id = EntryID(entry.id) else { return }
        removeFiles(await writing.run { (index) throws(DatabaseFault) in try index.remove(id: id.data) })
    }

    public func removeAll(url: String) async {
        removeFiles(await writing.run { (index) throws(DatabaseFault) in try index.remove(url: url) })
    }

    public func removeAll(origin: String) async {
        removeFiles(await writing.run { (index) throws(DatabaseFault) in try index.remove(origin: origin) })
    }

    public func removeAll() async {
        if await !writing.clear() { counts.count(\.failedWrites) }
    }

    private func remove(damaged row: FoundRow) {
        counts.count(\.damagedEntries)
        let folder = folder
        writing.enqueue { (index) throws(DatabaseFault) in
            let freed = try index.remove(id: row.id)
            for id in freed.ids { folder.removeBody(id) }
        }
    }

    /// Removes what a change has left over, and answers whether there was that change.
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

    /// For what is read beside lookups.
    var reading: IndexLane { lookups[0].index }
}
