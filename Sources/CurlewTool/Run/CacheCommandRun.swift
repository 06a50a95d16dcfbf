internal import Curlew
internal import CurlewDiskCache
internal import Foundation

/// Runs `curlew cache list` and `curlew cache clear`.
struct CacheCommandRun: Sendable {
    let command: CacheCommand
    var context: ToolContext

    func run() async throws {
        switch command {
        case .list(let directory, let asJSON):
            try await list(try ToolCache(path: directory).existing(), asJSON: asJSON)
        case .clear(let directory, let url, let quietness):
            var context = context
            context.quietness = quietness
            let url = try url.map(Self.url)
            try await clear(try ToolCache(path: directory).existing(), url, context)
        }
    }

    private func list(_ store: DiskCacheStore, asJSON: Bool) async throws {
        var table = CacheTable(asJSON: asJSON, isTerminal: context.terminal.isOutput)
        try context.output.write(table.beginning)
        var last: DiskCacheItem?
        while case let items = try await store.contents(after: last), !items.isEmpty {
            try context.output.write(items.map { table.row(CacheTable.Item($0)) }.joined())
            last = items.last
        }
        try context.output.write(table.end)
    }

    private func clear(_ store: DiskCacheStore, _ url: URL?, _ context: ToolContext) async throws {
        let before = await store.size()
        let cache = ResponseCache(store: store)
        if let url { await cache.remove(for: url) } else { await cache.removeAll() }
        guard store.faults.failedWrites == 0 else { throw UsageError("the cache could not be cleared") }
        let freed = before - (await store.size())
        context.note(freed > 0 ? "removed \(Amount.bytes(freed))" : "there was nothing to remove")
    }

    /// Completes the URL as for a request, so that both may be typed alike.
    private static func url(_ text: String) throws(UsageError) -> URL {
        guard let url = URL(string: try TargetURL.resolve(text)) else { throw UsageError("'\(text)' is not a URL") }
        return url
    }
}

extension CacheTable.Item {
    init(_ item: DiskCacheItem) {
        let entry = item.entry
        self.init(
            url: entry.key.url,
            status: entry.response.head.status,
            size: item.bodySize,
            stored: entry.response.responseTime,
            freshUntil: entry.lifetime.freshUntil,
            vary: entry.varyingFields,
            isForCredentials: !entry.key.partition.isEmpty
        )
    }
}
