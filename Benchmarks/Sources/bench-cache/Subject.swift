internal import BenchmarkSupport
internal import Curlew
internal import CurlewDiskCache
internal import Foundation

/// Two sessions, one of which has a cache, and the URL that both request.
struct Subject {
    let url: String
    let plain: Session
    let cached: Session
    let cache: ResponseCache

    private static let roomy = 1 << 30

    /// Reads `cache=memory`, or `cache=disk directory=PATH`.
    init(_ arguments: Arguments) throws {
        url = try arguments.text("url")
        let store: any CacheStore
        if arguments["cache"] == "disk" {
            store = try DiskCacheStore(
                directory: URL(fileURLWithPath: try arguments.text("directory")), maximumSize: Int64(Self.roomy),
                maximumEntrySize: Int64(Self.roomy))
        } else {
            store = MemoryCacheStore(maximumSize: Self.roomy, maximumEntrySize: Self.roomy)
        }
        let cache = ResponseCache(store: store)
        let connections = max(6, arguments.number("in-flight", or: 1))
        func session(_ cache: ResponseCache?) -> Session {
            Session(
                configuration: SessionConfiguration {
                    $0.proxy = .none
                    $0.maximumConnectionsPerHost = connections
                    $0.maximumBodySize = .max
                    $0.cache = cache
                })
        }
        self.cache = cache
        plain = session(nil)
        cached = session(cache)
    }

    /// Throws unless all requests were hits.
    func expect(hits: Int, since before: CacheStatistics) throws {
        let found = cache.statistics.hits - before.hits
        guard found == hits else { throw UnexpectedAnswer("\(found) hits of \(hits)") }
    }
}
