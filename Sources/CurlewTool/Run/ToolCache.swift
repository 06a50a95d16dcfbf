internal import Curlew
internal import CurlewDiskCache
internal import Foundation

/// The directory of `--cache` and of `curlew cache`.
struct ToolCache: Sendable {
    /// As it was typed.
    let path: String

    private var url: URL { URL(filePath: InputFile.expanded(path), directoryHint: .notDirectory) }

    /// The cache for a request; nil where there is none, or none that can be written.
    static func forRequests(_ settings: CacheSettings, context: ToolContext) throws(UsageError) -> ResponseCache? {
        guard let path = settings.directory else { return nil }
        let cache = ToolCache(path: path)
        do throws(CurlewError) {
            let store = try DiskCacheStore(directory: cache.url)
            // What is served stale is validated by `Sending`, before the command ends.
            return ResponseCache(store: store, staleWhileRevalidateLimit: 0)
        } catch {
            if error.code == .destinationExists { throw cache.isNone }
            context.warn("--cache: \(error.reason). Going on without it")
            return nil
        }
    }

    /// The store that is there, for a look or to be cleared.
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
