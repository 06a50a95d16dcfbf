public import Curlew
internal import CurlewDiskCache
internal import Foundation

extension ImageDownloader {
    /// The cache of downloaders that are given no other: at most 256 MiB in the directory
    /// `$XDG_CACHE_HOME/<program>/curlew-images` (`~/.cache/…` without that variable), which the processes of a program
    /// share.
    ///
    /// It is opened at its first use. `nil` if it cannot be opened; images are then loaded without it.
    public static let defaultResponseCache: ResponseCache? = {
        let process = ProcessInfo.processInfo
        return responseCache(in: cacheDirectory(environment: process.environment, program: process.processName))
    }()

    static func responseCache(in directory: URL?) -> ResponseCache? {
        guard let directory else { return nil }
        let store = try? DiskCacheStore(
            directory: directory, maximumSize: 256 << 20, maximumEntrySize: Int64(maximumPictureSize))
        return store.map { ResponseCache(store: $0) }
    }

    /// `nil` if the environment contains neither a cache directory nor a home directory.
    static func cacheDirectory(environment: [String: String], program: String) -> URL? {
        let base: String
        if let caches = environment["XDG_CACHE_HOME"], caches.hasPrefix("/") {
            // The XDG specification requires absolute paths. Others are ignored.
            base = caches
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            base = home + "/.cache"
        } else {
            return nil
        }
        let isName = !program.isEmpty && !program.contains("/") && program != "." && program != ".."
        return URL(filePath: base, directoryHint: .isDirectory)
            .appending(path: isName ? program : "curlew", directoryHint: .isDirectory)
            .appending(path: "curlew-images", directoryHint: .isDirectory)
    }
}
