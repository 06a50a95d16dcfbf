public import CurlewCore
internal import Foundation

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

extension CacheIndex {
    /// The intact entries with numbers below `number`, in descending order.
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
