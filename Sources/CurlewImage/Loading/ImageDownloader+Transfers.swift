internal import Curlew
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// The transfers of a downloader. One transfer can have many receivers.
extension ImageDownloader {
    func receive(
        _ request: URLRequest,
        _ cacheKey: String?,
        _ filter: (any ImageFilter)?,
        _ complete: @escaping @Sendable (Result<Image, CurlewError>) -> Void
    ) -> ImageDownloadReceipt {
        let receiver = Receiver(request: request, cacheKey: cacheKey, filter: filter, complete: complete)
        let (ticket, actions) = state.withLock { $0.loads.add(receiver, for: LoadKey(request)) }
        start(actions)
        return ImageDownloadReceipt(ticket: ticket)
    }

    /// Removes a receiver, and cancels the transfer if it was the last one. Returns `nil` if the receiver has been
    /// served.
    func leave(_ ticket: Loads.Ticket) -> (Receiver, [Loads.Action])? {
        let left = state.withLock { state -> (Receiver, [Loads.Action], [DataRequest])? in
            guard let (receiver, actions) = state.loads.remove(ticket) else { return nil }
            var ended: [DataRequest] = []
            // Both change in one step. As soon as the lock is released, another transfer may use the key.
            for case .cancel(let key) in actions {
                if let request = state.running.removeValue(forKey: key) { ended.append(request) }
            }
            return (receiver, actions, ended)
        }
        guard let (receiver, actions, ended) = left else { return nil }
        for request in ended { request.cancel() }
        return (receiver, actions)
    }

    /// Performs the actions one after the other. Starting a load may serve its receivers from the cache; the loads that
    /// this makes room for are started as well.
    func start(_ actions: [Loads.Action]) {
        var actions = actions[...]
        while let action = actions.popFirst() {
            switch action {
            case .start(let key, let generation): actions += start(key, generation)
            case .cancel: break
            }
        }
    }

    private func start(_ key: LoadKey, _ generation: Int) -> [Loads.Action] {
        // Since the receivers asked, another transfer may have put their images into the cache.
        var actions: [Loads.Action] = []
        for (ticket, receiver) in state.withLock({ $0.loads.receivers(of: key, generation: generation) }) {
            guard let image = cached(receiver.request, receiver.cacheKey, receiver.filter),
                let (_, next) = leave(ticket)
            else { continue }
            receiver.complete(.success(image))
            actions += next
        }
        let types = acceptableContentTypes
        let request = session.request(key.request, shouldAutomaticallyResume: false)
            .validate(statusCode: 200..<300)
            .validate(contentType: types)
        let isWanted = state.withLock { state in
            guard state.loads.isRunning(key, generation: generation) else { return false }
            state.running[key] = request
            return true
        }
        if isWanted {
            request.response(queue: decoding) { [self] response in loaded(key, generation, response) }
            request.resume()
        }
        return actions
    }

    /// Decodes a response and serves the receivers. Runs on the decoding queue.
    private func loaded(_ key: LoadKey, _ generation: Int, _ response: DataResponse<Data?, CurlewError>) {
        let result: Result<Image, CurlewError>
        do {
            let serializer = ImageResponseSerializer(decoder: decoder)
            let image = try serializer.serialize(
                request: response.request,
                response: nil,
                data: response.data,
                error: response.error
            )
            result = .success(image)
        } catch {
            result = .failure((error as? CurlewError) ?? .cancelled)
        }
        var versions = Versions(result)
        // The image is cached before the transfer ends. A load that begins in between finds either the image or the
        // transfer.
        for (_, receiver) in state.withLock({ $0.loads.receivers(of: key, generation: generation) }) {
            keep(versions.version(for: receiver), for: receiver)
        }
        let (receivers, actions) = state.withLock { state in
            if state.loads.isRunning(key, generation: generation) { state.running[key] = nil }
            return state.loads.finish(key, generation: generation)
        }
        start(actions)
        for receiver in receivers {
            let version = versions.version(for: receiver)
            keep(version, for: receiver)
            receiver.complete(version)
        }
    }

    /// An image in the versions that its receivers want. Each filter runs once.
    private struct Versions {
        private let result: Result<Image, CurlewError>
        private var filtered: [String: Image] = [:]

        init(_ result: Result<Image, CurlewError>) { self.result = result }

        mutating func version(for receiver: Receiver) -> Result<Image, CurlewError> {
            guard let filter = receiver.filter, case .success(let image) = result else { return result }
            let version = filtered[filter.identifier] ?? filter.filter(image)
            filtered[filter.identifier] = version
            return .success(version)
        }
    }

    // MARK: The cache

    func cached(_ request: URLRequest, _ cacheKey: String?, _ filter: (any ImageFilter)?) -> Image? {
        guard let imageCache, request.cachePolicy.allowsCachedPictures,
            let name = name(of: request, cacheKey, filter, in: imageCache)
        else { return nil }
        return imageCache.image(withIdentifier: name)
    }

    private func keep(_ version: Result<Image, CurlewError>, for receiver: Receiver) {
        guard let imageCache, case .success(let image) = version,
            let name = name(of: receiver.request, receiver.cacheKey, receiver.filter, in: imageCache)
        else { return }
        let identifier = receiver.filter?.identifier
        guard imageCache.shouldCache(image, for: receiver.request, withIdentifier: identifier) else { return }
        imageCache.add(image, withIdentifier: name)
    }

    /// The name of an image in the cache. `nil` if the request's URL does not determine the image.
    private func name(
        of request: URLRequest,
        _ cacheKey: String?,
        _ filter: (any ImageFilter)?,
        in cache: any ImageRequestCache
    ) -> String? {
        if let cacheKey { return filter.map { "\(cacheKey)-\($0.identifier)" } ?? cacheKey }
        guard request.isToldByItsURL else { return nil }
        return cache.imageCacheKey(for: request, withIdentifier: filter?.identifier)
    }
}

/// The properties that two requests must share to be one transfer.
struct LoadKey: Hashable, Sendable {
    let request: URLRequest
    private let url: URL?
    private let fields: [String: String]
    private let method: String?
    private let body: Data?
    private let policy: URLRequest.CachePolicy

    init(_ request: URLRequest) {
        self.request = request
        url = request.url
        fields = request.allHTTPHeaderFields ?? [:]
        method = request.httpMethod
        body = request.httpBody
        policy = request.cachePolicy
    }

    static func == (lhs: LoadKey, rhs: LoadKey) -> Bool {
        lhs.url == rhs.url && lhs.method == rhs.method && lhs.policy == rhs.policy && lhs.fields == rhs.fields
            // A stream can be read only once, so it is equal only to itself.
            && lhs.body == rhs.body && lhs.request.httpBodyStream === rhs.request.httpBodyStream
    }

    func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

/// A caller that waits for an image.
struct Receiver: Sendable {
    let request: URLRequest
    let cacheKey: String?
    let filter: (any ImageFilter)?
    let complete: @Sendable (Result<Image, CurlewError>) -> Void
}

extension URLRequest {
    /// Whether every request for this URL loads the same image. With credentials it may load the image of one user, and
    /// with a method other than GET an image that depends on the body.
    fileprivate var isToldByItsURL: Bool {
        (httpMethod ?? "GET") == "GET" && !(allHTTPHeaderFields ?? [:]).keys.contains { SecretNames.containsField($0) }
    }
}

extension URLRequest.CachePolicy {
    fileprivate var allowsCachedPictures: Bool {
        switch self {
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        default: false
        }
    }
}
