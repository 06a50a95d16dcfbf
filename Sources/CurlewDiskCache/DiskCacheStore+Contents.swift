public import CurlewCore
internal import Foundation

/// A response that a `DiskCacheStore` keeps.
public struct DiskCacheItem: Sendable {
    /// Everything but the body.
    public let entry: CacheEntry
    /// How many bytes the body has.
    public let bodySize: Int64

    /// The row's number in the index: what is stored later has a greater one.
    let number: Int64
}

extension DiskCacheStore {
    /// What is stored, the newest first, a part at a time. Looking at it is not using it.
    ///
    ///     var last: DiskCacheItem?
    ///     while case let items = try await store.contents(after: last), !items.isEmpty {
    ///         for item in items { print(item.entry.key.url, item.bodySize) }
    ///         last = items.last
    ///     }
    ///
    /// Damaged entries are left out. Bodies are not looked at: an entry whose body is damaged is still shown.
    ///
    /// - Parameters:
    ///   - last: The last item of the part before; nil begins with the newest.
    ///   - limit: How many items a part has at most.
    /// - Throws: `fileUnreadable` where the index cannot be read.
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

extension CacheIndex {
    /// The entries with smaller numbers, from the greatest down, as far as they agree with their checksums.
    func items(before number: Int64, limit: Int) throws(DatabaseFault) -> [DiskCacheItem] {
        var items: [DiskCacheItem] = []
        guard limit > 0 else { return items }
        try database.run(
            "SELECT number, size, entry_check, body_check, entry FROM entries WHERE number < ? ORDER BY number DESC",
            [.integer(number)]
        ) { row in
            let encoded = row.blob(4)
            if IndexRow.entryCheck(encoded, bodyCheck: row.integer(3)) == row.integer(2),
                let entry = CacheEntry(encoded: encoded)
            {
                items.append(DiskCacheItem(entry: entry, bodySize: row.integer(1), number: row.integer(0)))
            }
            return items.count < limit
        }
        return items
    }
}
