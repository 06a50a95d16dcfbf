public import Curlew
internal import CurlewLocks
public import Dispatch
internal import Foundation
public import FoundationNetworking

/// Loads images, each once however many callers ask for it, and caches them.
///
///     let downloader = ImageDownloader()
///     let avatar = try await downloader.image(for: url, filter: CircleFilter())
///     let receipt = downloader.download(url) { response in view.show(response.value) }
///
/// Requests with the same URL, method, header fields, body and cache policy that wait or run at the same time are one transfer; each
/// receiver gets the image with its own filter, and can cancel by its receipt. The transfer ends when the last one has cancelled. Images are
/// decoded and filtered on a queue of the downloader's, not on Swift's few threads.
///
/// Images are kept twice: decoded in `imageCache`, for this process, and as they came in `responseCache`, on disk, for later
/// ones. There they are fresh for as long as their servers say, and are validated afterwards. `responseCache: nil` keeps
/// nothing on disk.
///
/// In `imageCache` an image has the name of its URL. A request with a credential in its fields (`Authorization`, `Cookie`, …), or
/// with another method than GET, neither takes images from there nor leaves its own: they may be one user's, or one body's. With a
/// `cacheKey`, which is the image's name then, it does both.
public final class ImageDownloader: Sendable {
    /// The downloader that is used where none is given.
    public static let `default` = ImageDownloader()

    /// The session that loads the images.
    public let session: Session
    /// The cache of decoded images; nil keeps none.
    public let imageCache: (any ImageRequestCache)?
    /// Most transfers at a time.
    public let maximumActiveDownloads: Int
    /// Turns bytes into images.
    public let decoder: ImageDecoder
    /// Content types that are no error.
    public let acceptableContentTypes: Set<String>

    let state: Lock<State>
    let decoding: DispatchQueue
    private let handoff = Handoff()

    typealias Loads = LoadQueue<LoadKey, Receiver>

    struct State {
        var loads: Loads
        var running: [LoadKey: DataRequest] = [:]
    }

    /// Without a session of your own the downloader makes one with `ImageDownloader.defaultConfiguration` and
    /// `responseCache`; a session of your own has the cache of its configuration.
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

    /// Sixty seconds for the first byte and between bytes, and no body above 32 MiB.
    public static var defaultConfiguration: SessionConfiguration {
        SessionConfiguration { $0.maximumBodySize = maximumPictureSize }
    }

    private static func session(keepingResponsesIn cache: ResponseCache?) -> Session {
        var configuration = defaultConfiguration
        configuration.cache = cache
        return Session(configuration: configuration)
    }

    /// How many transfers run.
    public var activeDownloadCount: Int { state.withLock { $0.loads.activeCount } }
    /// How many transfers wait for one of the others to end.
    public var waitingDownloadCount: Int { state.withLock { $0.loads.waitingCount } }

    // MARK: Closures

    /// Calls `completion` with the image. If it is in the cache there is no receipt.
    ///
    /// `completion` is called once, on `queue` or the session's completion queue, and never before this has returned.
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

    /// Calls `completion` with the image: as above, for a request with fields of its own.
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

    /// The receiver of this receipt gets `.cancelled`, unless it has been served. Others of the same transfer get the
    /// image; without others the transfer ends.
    public func cancel(_ receipt: ImageDownloadReceipt) {
        guard let (receiver, actions) = leave(receipt.ticket) else { return }
        start(actions)
        receiver.complete(.failure(Self.cancelled))
    }

    static var cancelled: CurlewError {
        CurlewError(.cancelled, phase: .lifecycle, reason: "Request explicitly cancelled.")
    }

    /// What a convertible threw; Curlew's own throw `.invalidURL`.
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

    /// The image. Cancelling the task leaves the transfer to its other receivers.
    public func image(
        for convertible: any URLConvertible,
        cacheKey: String? = nil,
        filter: (any ImageFilter)? = nil
    ) async throws(CurlewError) -> Image {
        do {
            return try await image(for: URLRequest(url: try convertible.asURL()), cacheKey: cacheKey, filter: filter)
        } catch {
            throw Self.failure(error)
        }
    }

    /// The image, for a request with fields of its own.
    public func image(
        for request: URLRequest,
        cacheKey: String? = nil,
        filter: (any ImageFilter)? = nil
    ) async throws(CurlewError) -> Image {
        if let image = cached(request, cacheKey, filter) { return image }
        // A transfer that nothing waits for would be begun, and might be over before it is cancelled.
        if Task.isCancelled { throw Self.cancelled }
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

/// An image, or why there is none.
public struct ImageResponse: Sendable {
    /// The request that was sent or would have been sent.
    public let request: URLRequest?
    /// Whether nothing was transferred.
    public let isFromCache: Bool
    /// The image, or the error.
    public let result: Result<Image, CurlewError>

    /// The image; nil after an error.
    public var value: Image? { try? result.get() }

    /// The error; nil after success.
    public var error: CurlewError? {
        switch result {
        case .success: nil
        case .failure(let error): error
        }
    }
}

/// One receiver of a transfer: `ImageDownloader.cancel(_:)` takes it.
public struct ImageDownloadReceipt: Sendable, Hashable {
    let ticket: ImageDownloader.Loads.Ticket
}
