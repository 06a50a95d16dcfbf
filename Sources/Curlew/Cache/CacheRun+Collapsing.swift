internal import CurlewCore
internal import Foundation

// Of many requests for one response at the same time one is sent. The others wait for it, and what is found for them then is
// theirs like any other stored response: they go themselves where it is another variant, or not to be shared.
extension CacheRun {
    /// Whether this request is to be sent; false where the store is to be asked again.
    mutating func takesOff(since mark: UInt64, mayWait: Bool) async throws(CurlewError) -> Bool {
        guard asked.isCollapsible, cache.collapsesRequests, mayWait, background != nil, awaited != .notStored else {
            return true
        }
        switch flights.join(asked.key, since: mark) {
        case .lookAgain: return false
        case .lead(let led):
            guard await cache.store.claimFetch(of: asked.key) else {
                // Another process has stored it.
                flights.land(led, .stored)
                return false
            }
            flight = led
            return true
        case .follow(let other):
            awaited = try await follow(other)
            return awaited == .notStored
        }
    }

    private mutating func follow(_ other: CacheFlight) async throws(CurlewError) -> CacheFlight.End {
        let exchange = ownExchange()
        let event = OneShot<Bool>()
        other.add(event)
        let timeouts = request.options.timeouts
        let limit = [timeouts.firstByte, timeouts.total].compactMap { $0 }.min()
        let wasCancelled = await withTaskGroup(of: Void.self) { group in
            if let limit {
                group.addTask {
                    try? await Task.sleep(for: limit)
                    event.resolve(false)
                }
            }
            let isThere = await exchange.wait(for: event) != nil
            group.cancelAll()
            return !isThere
        }
        if let ending = exchange.ending { throw ending }
        if wasCancelled { throw CurlewError(.cancelled, phase: .waiting, url: request.url) }
        if let end = other.end { return end }
        let isTotal = limit == timeouts.total
        throw CurlewError(
            isTotal ? .totalTimedOut : .firstByteTimedOut,
            phase: .waiting,
            reason: "the response to the same request, which was sent before, did not come in time",
            url: request.url,
            isSafeToRetry: true
        )
    }

    /// The request that others may be waiting for is over.
    mutating func land(_ end: CacheFlight.End) async {
        guard let landed = flight else { return }
        flight = nil
        flights.land(landed, end)
        await cache.store.fetchEnded(of: asked.key, stored: end == .stored)
    }
}
