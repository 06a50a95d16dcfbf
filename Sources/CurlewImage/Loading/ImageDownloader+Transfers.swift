internal import Curlew
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// One transfer for many receivers.
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

    /// A receiver leaves; nil where it has been served. What was loaded for it alone is cancelled.
    func leave(_ ticket: Loads.Ticket) -> (Receiver, [Loads.Action])? {
        let left = state.withLock { state -> (Receiver, [Loads.Action], [DataRequest])? in
            guard let (receiver, actions) = state.loads.remove(ticket) else { return nil }
            var ended: [DataRequest] = []
            // In one step: a moment later the key may be another transfer's.
            for case .cancel(let key) in actions {
                if let request = state.running.removeValue(forKey: key) { ended.append(request) }
            }
            return (receiver, actions, ended)
        }
        guard let (receiver, actions, ended) = left else { return nil }
        for request in ended { request.cancel() }
        return (receiver, actions)
    }

    /// One after the other: what has been loaded meanwhile makes room for the next at once.
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
        // What was not in the cache when it was asked for may be there now.
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

    /// On the decoding queue.
    private func loaded(_ key: LoadKey, _ generation: Int, _ response: AFDataResponse<Data?>) {
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
            result = .failure((error as? CurlewError) ?? Self.cancelled)
        }
        var versions = Versions(result)
        // Into the cache before the transfer ends: a load that begins in between finds the one or the other.
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

    /// An image in the versions that its receivers want: each filter runs once.
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

    /// nil where the picture is not to be found by its request.
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

/// What two requests must have in common to be one transfer.
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
            // A stream is read once: only itself is the same.
            && lhs.body == rhs.body && lhs.request.httpBodyStream === rhs.request.httpBodyStream
    }

    func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

/// One load that waits for an image.
struct Receiver: Sendable {
    let request: URLRequest
    let cacheKey: String?
    let filter: (any ImageFilter)?
    let complete: @Sendable (Result<Image, CurlewError>) -> Void
}

extension URLRequest {
    /// Whether every request for this URL brings the same picture. One with a credential may bring the picture of one user,
    /// and one that is no GET the picture of its body.
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
