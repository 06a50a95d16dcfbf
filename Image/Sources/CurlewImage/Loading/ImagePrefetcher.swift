internal import Curlew
internal import CurlewLocks
internal import Dispatch
public import Foundation
internal import FoundationNetworking

/// Loads pictures into a downloader's cache before they are wanted.
///
///     let prefetcher = ImagePrefetcher()
///     prefetcher.start(rowsAhead.map(\.avatarURL))
///     prefetcher.stop([rowThatWillNotCome.avatarURL])
///
/// Who wants one of them meanwhile joins its transfer. What is prefetched takes its turn among the downloader's other
/// transfers; give it a downloader of its own that shares the cache where it must not.
public final class ImagePrefetcher: Sendable {
    public let downloader: ImageDownloader
    private let filter: (any ImageFilter)?
    private let receipts = Lock<[URL: ImageDownloadReceipt]>([:])

    public init(downloader: ImageDownloader = .default, filter: (any ImageFilter)? = nil) {
        self.downloader = downloader
        self.filter = filter
    }

    deinit { stop() }

    /// How many pictures are on their way.
    public var activeCount: Int { receipts.withLock { $0.count } }

    /// Begins to load what is not cached and not on its way already. What fails is forgotten.
    public func start(_ urls: [URL]) {
        for url in urls {
            receipts.withLock { receipts in
                guard receipts[url] == nil else { return }
                // Under the lock, so that its end finds it there. The completion comes on another thread.
                receipts[url] = downloader.download(url, filter: filter, queue: Self.queue) { [weak self] _ in
                    self?.receipts.withLock { $0[url] = nil }
                }
            }
        }
    }

    /// Gives up these pictures, unless they have come; nil is all. Who else wants one gets it.
    public func stop(_ urls: [URL]? = nil) {
        let stopped = receipts.withLock { receipts in
            let all = urls ?? Array(receipts.keys)
            return all.compactMap { receipts.removeValue(forKey: $0) }
        }
        for receipt in stopped { downloader.cancel(receipt) }
    }

    /// Loads pictures and returns when all have come or failed: how many could not be loaded.
    @discardableResult
    public func prefetch(_ urls: [URL]) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            for url in Set(urls) {
                group.addTask { [downloader, filter] in
                    (try? await downloader.image(for: url, filter: filter)) == nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }

    private static let queue = DispatchQueue(label: "org.curlew.image.prefetching")
}
