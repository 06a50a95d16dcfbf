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
    private let state = Lock(State())

    private struct State {
        var loads: [URL: Load] = [:]
        var lastNumber = 0
    }

    private struct Load {
        /// Tells a load from an earlier one of the same URL, whose end may be told later.
        let number: Int
        /// nil until the downloader has given it.
        var receipt: ImageDownloadReceipt?
    }

    /// Creates a prefetcher; every image goes through the filter.
    public init(downloader: ImageDownloader = .default, filter: (any ImageFilter)? = nil) {
        self.downloader = downloader
        self.filter = filter
    }

    deinit { stop() }

    /// How many images are being loaded.
    public var activeCount: Int { state.withLock { $0.loads.count } }

    /// Loads the images that are neither cached nor being loaded. Failures are ignored.
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

    /// Without the lock: the downloader asks the cache and the filter, which are the program's.
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

    /// Stops prefetching these images; nil stops all. Other requests for them are not affected.
    public func stop(_ urls: [URL]? = nil) {
        let stopped = state.withLock { state in
            let all = urls ?? Array(state.loads.keys)
            return all.compactMap { state.loads.removeValue(forKey: $0)?.receipt }
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

    static let queue = DispatchQueue(label: "org.curlew.image.prefetching")
}
