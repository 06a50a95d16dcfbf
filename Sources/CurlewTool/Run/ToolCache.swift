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
            context.warn("--cache: \(error.reason). Going on without it")
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
