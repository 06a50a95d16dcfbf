internal import Curlew
internal import CurlewLocks
internal import Dispatch
public import Foundation
internal import FoundationNetworking

/// Loads images into a downloader's cache before they are wanted.
///
///     let prefetcher = ImagePrefetcher()
///     prefetcher.start(rowsAhead.map(\.avatarURL))
///     prefetcher.stop([rowThatWillNotCome.avatarURL])
///
/// A request for one of these images joins its transfer. Prefetching waits its turn among the downloader's other transfers.
/// To keep them apart, use a second downloader with the same cache.
public final class ImagePrefetcher: Sendable {
    /// Loads and keeps the images.
    public let downloader: ImageDownloader
    private let filter: (any ImageFilter)?
    private let receipts = Lock<[URL: ImageDownloadReceipt]>([:])

    /// Creates a prefetcher; every image goes through the filter.
    public init(downloader: ImageDownloader = .default, filter: (any ImageFilter)? = nil) {
        self.downloader = downloader
        self.filter = filter
    }

    deinit { stop() }

    /// How many images are being loaded.
    public var activeCount: Int { receipts.withLock { $0.count } }

    /// Loads the images that are neither cached nor being loaded. Failures are ignored.
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

    /// Stops prefetching these images; nil stops all. Other requests for them are not affected.
    public func stop(_ urls: [URL]? = nil) {
        let stopped = receipts.withLock { receipts in
            let all = urls ?? Array(receipts.keys)
            return all.compactMap { receipts.removeValue(forKey: $0) }
        }
        for receipt in stopped { downloader.cancel(receipt) }
    }

    /// Loads images and returns when all have come or failed: how many could not be loaded.
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
