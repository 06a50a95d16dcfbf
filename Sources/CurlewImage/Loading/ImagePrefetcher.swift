internal import Curlew
internal import CurlewLocks
internal import Dispatch
public import Foundation
internal import FoundationNetworking

/// Loads images into a downloader's cache before they are needed.
///
///     let prefetcher = ImagePrefetcher()
///     prefetcher.start(rowsAhead.map(\.avatarURL))
///     prefetcher.stop([rowThatWillNotCome.avatarURL])
///
/// A request for one of these images joins its transfer. Prefetching competes with the downloader's other transfers. To
/// separate them, use a second downloader with the same cache.
public final class ImagePrefetcher: Sendable {
    /// The downloader that loads and caches the images.
    public let downloader: ImageDownloader
    private let filter: (any ImageFilter)?
    private let state = Lock(State())

    private struct State {
        var loads: [URL: Load] = [:]
        var lastNumber = 0
    }

    private struct Load {
        /// Distinguishes the load from an earlier one of this URL, whose completion may still be called.
        let number: Int
        /// `nil` until the downloader has returned it.
        var receipt: ImageDownloadReceipt?
    }

    /// Creates a prefetcher that applies the filter to every image.
    public init(downloader: ImageDownloader = .default, filter: (any ImageFilter)? = nil) {
        self.downloader = downloader
        self.filter = filter
    }

    deinit { stop() }

    /// The number of images that are being loaded.
    public var activeCount: Int { state.withLock { $0.loads.count } }

    /// Loads the images that are neither cached nor being loaded. Errors are ignored.
    public func start(_ urls: [URL]) {
        for url in urls {
            let number = state.withLock { state -> Int? in
                guard state.loads[url] == nil else { return nil }
                state.lastNumber += 1
                state.loads[url] = Load(number: state.lastNumber)
                return state.lastNumber
            }
            if let number { load(url, number) }
        }
    }

    /// Loads an image. Call it without the lock: the downloader calls the cache and the filter, which are code of the
    /// program.
    private func load(_ url: URL, _ number: Int) {
        let receipt = downloader.download(url, filter: filter, queue: Self.queue) { [weak self] _ in
            self?.ended(url, number)
        }
        guard let receipt else { return ended(url, number) }
        let isWanted = state.withLock { state in
            guard state.loads[url]?.number == number else { return false }
            state.loads[url]?.receipt = receipt
            return true
        }
        if !isWanted { downloader.cancel(receipt) }
    }

    private func ended(_ url: URL, _ number: Int) {
        state.withLock { state in
            if state.loads[url]?.number == number { state.loads[url] = nil }
        }
    }

    /// Stops prefetching these images, or all of them if `urls` is `nil`. Other requests for them continue.
    public func stop(_ urls: [URL]? = nil) {
        let stopped = state.withLock { state in
            let all = urls ?? Array(state.loads.keys)
            return all.compactMap { state.loads.removeValue(forKey: $0)?.receipt }
        }
        for receipt in stopped { downloader.cancel(receipt) }
    }

    /// Loads images and waits for all of them. Returns how many could not be loaded.
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

    static let queue = DispatchQueue(label: "org.curlew.image.prefetching")
}
