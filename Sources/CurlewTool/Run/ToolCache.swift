internal import Curlew
internal import CurlewDiskCache
internal import Foundation

/// The cache directory of `--cache` and of `curlew cache`.
struct ToolCache: Sendable {
    /// The path as typed.
    let path: String

    private var url: URL { URL(filePath: InputFile.expanded(path), directoryHint: .notDirectory) }

    /// Returns the cache for requests. `nil` if there is none, or if its directory cannot be written.
    static func forRequests(_ settings: CacheSettings, context: ToolContext) throws(UsageError) -> ResponseCache? {
        guard let path = settings.directory else { return nil }
        let cache = ToolCache(path: path)
        do throws(CurlewError) {
            let store = try DiskCacheStore(directory: cache.url)
            // Allows no validation in the background, which would end with the command. After an exchange, `Sending`
            // validates a response that was served stale; a download does not.
            return ResponseCache(store: store, staleWhileRevalidateLimit: 0)
        } catch {
            if error.code == .destinationExists { throw cache.isNone }
            context.warn("--cache: \(error.reason). Continuing without it")
            return nil
        }
    }

    /// Opens the existing store, to list or to clear it.
    func existing() throws(UsageError) -> DiskCacheStore {
        do throws(CurlewError) {
            return try DiskCacheStore(directory: url, create: false)
        } catch {
            switch error.code {
            case .destinationExists: throw isNone
            case .destinationMissing where FileManager.default.fileExists(atPath: url.path(percentEncoded: false)):
                throw UsageError("there is no cache in \(path)", hint: "'curlew --cache DIR URL' makes one.")
            case .destinationMissing: throw UsageError("there is no directory \(path)")
            default: throw UsageError(error.reason)
            }
        }
    }

    private var isNone: UsageError {
        UsageError("\(path) is not a cache, and is left as it is", hint: "A cache has a directory for itself.")
    }
}

extension CachePolicyChoice {
    var forLibrary: CachePolicy {
        switch self {
        case .standard: .useProtocol
        case .reload: .reload
        case .revalidate: .revalidate
        case .preferCache: .preferStored
        case .onlyCache: .onlyStored
        }
    }
}

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
