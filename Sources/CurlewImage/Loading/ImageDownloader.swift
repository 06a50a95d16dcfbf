public import Curlew
internal import CurlewLocks
public import Dispatch
internal import Foundation
public import FoundationNetworking

/// Loads and caches images. Callers that ask for an image concurrently share one transfer.
///
///     let downloader = ImageDownloader()
///     let avatar = try await downloader.image(for: url, filter: CircleFilter())
///     let receipt = downloader.download(url) { response in view.show(response.value) }
///
/// Requests with equal URL, method, header fields, body and cache policy share a transfer while it waits or runs. Each
/// receiver gets the image with its own filter and can cancel with its receipt. The transfer is cancelled when its last
/// receiver has cancelled. Images are decoded and filtered on a queue of the downloader, not on Swift's few threads.
///
/// Images are cached twice: decoded in `imageCache`, for this process, and as received in `responseCache`, on disk, for
/// later processes. On disk they are fresh for as long as their servers say, and are validated afterwards.
/// `responseCache: nil` stores nothing on disk.
///
/// In `imageCache` an image is stored under its URL. A request with a credential in its fields (`Authorization`,
/// `Cookie`, …) or with a method other than GET does not use this cache: its image may be for one user, or depend on
/// the body. With a `cacheKey`, which then names the image, it does.
public final class ImageDownloader: Sendable {
    /// The downloader that is used if no other is given.
    public static let `default` = ImageDownloader()

    /// The session that loads the images.
    public let session: Session
    /// The cache of decoded images. `nil` caches none.
    public let imageCache: (any ImageRequestCache)?
    /// The maximum number of transfers at a time.
    public let maximumActiveDownloads: Int
    /// The decoder of the images.
    public let decoder: ImageDecoder
    /// The content types that are accepted.
    public let acceptableContentTypes: Set<String>

    let state: Lock<State>
    let decoding: DispatchQueue
    private let handoff = Handoff()

    typealias Loads = LoadQueue<LoadKey, Receiver>

    struct State {
        var loads: Loads
        var running: [LoadKey: DataRequest] = [:]
    }

    /// Creates a downloader. Without a session it creates one with `ImageDownloader.defaultConfiguration` and
    /// `responseCache`. A session that you pass uses the cache of its configuration, and `responseCache` is ignored.
    public init(
        session: Session? = nil,
        downloadPrioritization: DownloadPrioritization = .fifo,
        maximumActiveDownloads: Int = 4,
        imageCache: (any ImageRequestCache)? = AutoPurgingImageCache(),
        responseCache: ResponseCache? = ImageDownloader.defaultResponseCache,
        decoder: ImageDecoder = ImageDecoder(),
        acceptableContentTypes: Set<String> = ImageResponseSerializer.contentTypes
    ) {
        self.session = session ?? Self.session(keepingResponsesIn: responseCache)
        self.imageCache = imageCache
        self.decoder = decoder
        self.acceptableContentTypes = acceptableContentTypes
        state = Lock(State(loads: Loads(limit: maximumActiveDownloads, prioritization: downloadPrioritization)))
        self.maximumActiveDownloads = max(1, maximumActiveDownloads)
        decoding = DispatchQueue(label: "org.curlew.image.decoding", attributes: .concurrent)
    }

    static let maximumPictureSize = 32 * 1024 * 1024

    /// The configuration of a downloader's session: a timeout of sixty seconds for the first byte and between bytes,
    /// and bodies of at most 32 MiB.
    public static var defaultConfiguration: SessionConfiguration {
        SessionConfiguration { $0.maximumBodySize = maximumPictureSize }
    }

    private static func session(keepingResponsesIn cache: ResponseCache?) -> Session {
        var configuration = defaultConfiguration
        configuration.cache = cache
        return Session(configuration: configuration)
    }

    /// The number of running transfers.
    public var activeDownloadCount: Int { state.withLock { $0.loads.activeCount } }
    /// The number of transfers that wait for a running one to end.
    public var waitingDownloadCount: Int { state.withLock { $0.loads.waitingCount } }

    // MARK: Closures

    /// Loads an image and calls `completion`. Returns `nil` if the image is in `imageCache` or there is no URL.
    ///
    /// `completion` is called once, on `queue` or the session's completion queue, and never before this method has
    /// returned.
    @discardableResult
    public func download(
        _ convertible: any URLConvertible,
        cacheKey: String? = nil,
        filter: (any ImageFilter)? = nil,
        queue: DispatchQueue? = nil,
        completion: @escaping @Sendable (ImageResponse) -> Void
    ) -> ImageDownloadReceipt? {
        do {
            let request = URLRequest(url: try convertible.asURL())
            return download(request, cacheKey: cacheKey, filter: filter, queue: queue, completion: completion)
        } catch {
            let failure = ImageResponse(request: nil, isFromCache: false, result: .failure(Self.failure(error)))
            deliver(failure, on: queue, completion)
            return nil
        }
    }

    /// Loads the image of a request, for example one with additional header fields, and calls `completion`. Behaves
    /// like `download(_:cacheKey:filter:queue:completion:)` for a URL.
    @discardableResult
    public func download(
        _ request: URLRequest,
        cacheKey: String? = nil,
        filter: (any ImageFilter)? = nil,
        queue: DispatchQueue? = nil,
        completion: @escaping @Sendable (ImageResponse) -> Void
    ) -> ImageDownloadReceipt? {
        if let image = cached(request, cacheKey, filter) {
            deliver(ImageResponse(request: request, isFromCache: true, result: .success(image)), on: queue, completion)
            return nil
        }
        return receive(request, cacheKey, filter) { [self] result in
            deliver(ImageResponse(request: request, isFromCache: false, result: result), on: queue, completion)
        }
    }

    /// Cancels the receiver of a receipt. It gets `.cancelled`, unless it has been served. Other receivers of the
    /// transfer get the image; without others the transfer is cancelled.
    public func cancel(_ receipt: ImageDownloadReceipt) {
        guard let (receiver, actions) = leave(receipt.ticket) else { return }
        start(actions)
        receiver.complete(.failure(.cancelled))
    }

    /// The error that a convertible threw. Curlew's own convertibles throw `.invalidURL`.
    private static func failure(_ error: any Error) -> CurlewError {
        (error as? CurlewError)
            ?? CurlewError(.invalidURL, phase: .creation, reason: "there is no URL", underlying: error)
    }

    private func deliver(
        _ response: ImageResponse,
        on queue: DispatchQueue?,
        _ completion: @escaping @Sendable (ImageResponse) -> Void
    ) {
        handoff(to: queue ?? session.configuration.completionQueue ?? .main) { completion(response) }
    }

    // MARK: Structured

    /// Returns an image. If the task is cancelled, the transfer continues for its other receivers.
    public func image(
        for convertible: any URLConvertible,
        cacheKey: String? = nil,
        filter: (any ImageFilter)? = nil
    ) async throws(CurlewError) -> Image {
        let url: URL
        do { url = try convertible.asURL() } catch { throw Self.failure(error) }
        return try await image(for: URLRequest(url: url), cacheKey: cacheKey, filter: filter)
    }

    /// Returns the image of a request, for example one with additional header fields.
    public func image(
        for request: URLRequest,
        cacheKey: String? = nil,
        filter: (any ImageFilter)? = nil
    ) async throws(CurlewError) -> Image {
        if let image = cached(request, cacheKey, filter) { return image }
        // Do not start a transfer for a task that is already cancelled.
        if Task.isCancelled { throw CurlewError.cancelled }
        let place = Lock(Place())
        let result: Result<Image, CurlewError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let receipt = receive(request, cacheKey, filter) { continuation.resume(returning: $0) }
                let isCancelled = place.withLock { place in
                    place.receipt = receipt
                    return place.isCancelled
                }
                if isCancelled { cancel(receipt) }
            }
        } onCancel: {
            let receipt = place.withLock { place in
                place.isCancelled = true
                return place.receipt
            }
            if let receipt { cancel(receipt) }
        }
        return try result.get()
    }

    private struct Place {
        var receipt: ImageDownloadReceipt?
        var isCancelled = false
    }
}

/// The image, or the error that prevented loading it.
public struct ImageResponse: Sendable {
    /// The request for the image. `nil` if there was no URL.
    public let request: URLRequest?
    /// Whether the image was in `imageCache` when it was requested.
    public let isFromCache: Bool
    /// The image, or the error.
    public let result: Result<Image, CurlewError>

    /// The image, or `nil` after an error.
    public var value: Image? { try? result.get() }

    /// The error, or `nil` after success.
    public var error: CurlewError? {
        switch result {
        case .success: nil
        case .failure(let error): error
        }
    }
}

/// Identifies one receiver of a transfer, for `ImageDownloader.cancel(_:)`.
public struct ImageDownloadReceipt: Sendable, Hashable {
    let ticket: ImageDownloader.Loads.Ticket
}
