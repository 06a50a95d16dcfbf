internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Adds the request's use of the cache to what the transport gets, if it differs from the session's.
    func lowerCaching(of visible: VisibleRequest, into lowered: inout TransferRequest) throws(CurlewError) {
        let policy = attempt.options?.cachePolicy ?? visible.cachePolicy
        guard let cache = request.context.configuration.cache else {
            guard policy == .onlyStored else { return }
            throw CurlewError(
                .notInCache, phase: .creation, reason: "the session has no cache", url: lowered.url)
        }
        let handler = attempt.options?.cachedResponseHandler ?? request.context.cachedResponseHandler
        let listens = events?.wantsBodies == true
        guard policy != .useProtocol || handler != nil || listens else { return }
        var wishes = CacheWishes(policy: policy)
        wishes.mustReview = handler != nil
        if handler != nil || listens {
            let (request, events) = (request, events)
            let isMemory = cache.store is MemoryCacheStore
            wishes.review = { [weak request] sent, head, body in
                let offered = CachedResponse(head: head, url: sent.url, data: body)
                var accepted: CachedResponse? = offered
                if let handler {
                    let ask = { await handler.dataTask(sent.identifier, willCacheResponse: offered) }
                    accepted = if let request { await UserCode.call(for: request, ask) } else { await ask() }
                }
                guard let accepted, accepted.mayBeStored(inMemory: isMemory) else { return nil }
                if let request {
                    let task = sent.identifier
                    events?.emitStorage(of: accepted.data) {
                        $0.request(request, task: task, willCacheResponse: accepted)
                    }
                }
                return accepted.stored(insteadOf: offered)
            }
        }
        lowered.options.cache = wishes
    }
}

extension VisibleRequest {
    /// The cache policy of the `URLRequest`. Policies that differ only for remote caches are the same here.
    var cachePolicy: CachePolicy {
        guard case .made(let request) = self else { return .useProtocol }
        switch request.cachePolicy {
        case .useProtocolCachePolicy: return .useProtocol
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .reload
        case .reloadRevalidatingCacheData: return .revalidate
        case .returnCacheDataElseLoad: return .preferStored
        case .returnCacheDataDontLoad: return .onlyStored
        @unknown default: return .useProtocol
        }
    }
}
