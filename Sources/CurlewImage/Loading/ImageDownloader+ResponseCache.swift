public import Curlew
internal import CurlewDiskCache
internal import Foundation

extension ImageDownloader {
    /// Where downloaders keep responses that are given no other cache: at most 256 MiB in the directory
    /// `$XDG_CACHE_HOME/<program>/curlew-images` (`~/.cache/…` without that variable), which the processes of a program share.
    /// It is opened when it is first used; nil where it cannot be: images are loaded all the same.
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

    /// nil where the environment names neither a place for caches nor a home.
    static func cacheDirectory(environment: [String: String], program: String) -> URL? {
        let base: String
        if let caches = environment["XDG_CACHE_HOME"], caches.hasPrefix("/") {
            // The XDG base directories have to be absolute, and are ignored otherwise.
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
