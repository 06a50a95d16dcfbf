internal import CurlewCore
internal import Foundation

// Of many simultaneous requests for one response, only one is sent. The others wait for it and then ask the store
// again. They are sent themselves if the response is another variant, or cannot be shared.
extension CacheRun {
    /// The position of a request among others for the same response.
    enum Place {
        /// It can be sent: it is the first, or it does not take part in collapsing.
        case free
        /// It is the first in this process. Another process may have sent one.
        case claiming(CacheFlight)
        case following(CacheFollowers)
        /// Another one has landed since the store was asked.
        case late

        var isFree: Bool { if case .free = self { true } else { false } }
    }

    mutating func place(since mark: UInt64, mayWait: Bool) -> Place {
        guard asked.isPlain, cache.collapsesRequests, mayWait, !isInBackground, awaited != .notStored else {
            return .free
        }
        switch flights.join(asked, since: mark) {
        case .lookAgain: return .late
        case .follow(let other): return .following(other)
        case .lead(let led):
            guard !cache.storeMayWait else { return .claiming(led) }
            flight = led
            return .free
        }
    }

    /// Whether to send this request. False if the store has to be asked again.
    mutating func takesOff(from place: Place) async throws(CurlewError) -> Bool {
        switch place {
        case .free: return true
        case .late: return false
        case .claiming(let led):
            do throws(CurlewError) {
                guard try await claim() else {
                    // Another process has stored the response.
                    flights.land(led, for: asked, .stored)
                    return false
                }
            } catch {
                flights.land(led, for: asked, .failed)
                throw error
            }
            var claimed = led
            claimed.claim = CacheClaim(of: asked.key, from: cache.store)
            flight = claimed
            return true
        case .following(let other):
            awaited = try await follow(other)
            return awaited == .notStored
        }
    }

    /// Ends the flight that this request leads, and its claim.
    mutating func land(_ end: CacheFlight.End) async {
        let claim = flight?.claim
        landInProcess(end)
        await claim?.end(stored: end == .stored)
    }

    /// Ends the flight that this request leads, if there is no claim.
    mutating func landInProcess(_ end: CacheFlight.End) {
        guard let landed = flight else { return }
        flight = nil
        flights.land(landed, for: asked, end)
    }
}

// Waits for events other than those of the network. The reader and the request's own time limits can end them.
extension CacheRun {
    /// Waits for the response to the request that leads a flight.
    private mutating func follow(_ other: CacheFollowers) async throws(CurlewError) -> CacheFlight.End {
        let exchange = ownExchange()
        let clocks = FollowerClocks(request.options.timeouts, remaining: budget.remaining, joined: .now)
        while true {
            if let end = other.end { return end }
            let limit = clocks.limit(lastHeard: other.lastHeard)
            if let limit, limit.instant <= .now {
                guard limit.verdict == .stalled else { throw late(limit.verdict) }
                // One of the waiting requests leads the next flight.
                other.end(.stalled)
                continue
            }
            let event = OneShot<Bool>()
            other.add(event)
            try await wait(on: exchange, for: event, until: limit?.instant)
        }
    }

    /// Waits until the store lets this process send the request. False if another process has stored the response.
    private mutating func claim() async throws(CurlewError) -> Bool {
        let (store, key) = (cache.store, asked.key)
        let exchange = ownExchange()
        let clocks = FollowerClocks(request.options.timeouts, remaining: budget.remaining, joined: .now)
        let limit = clocks.limit(lastHeard: nil)
        let (event, answer) = (OneShot<Bool>(), OneShot<Bool>())
        var error = await withTaskGroup(of: Void.self) { [self] group -> CurlewError? in
            group.addTask {
                answer.resolve(await store.claimFetch(of: key))
                event.resolve(true)
            }
            defer { group.cancelAll() }
            do throws(CurlewError) {
                try await wait(on: exchange, for: event, until: limit?.instant)
                return nil
            } catch {
                return error
            }
        }
        let isOurs = answer.value ?? true
        if error == nil, event.value == false, limit?.verdict == .totalTimedOut { error = late(.totalTimedOut) }
        guard let error else { return isOurs }
        if isOurs { await store.fetchEnded(of: key, stored: false) }
        throw error
    }

    /// Returns at the event or at the deadline. Throws the error that the request was ended with.
    private func wait(
        on exchange: ResponseDelivery,
        for event: OneShot<Bool>,
        until deadline: ContinuousClock.Instant?
    ) async throws(CurlewError) {
        let isThere = await withTaskGroup(of: Void.self) { group in
            if let deadline {
                group.addTask {
                    _ = await Pause.wait(until: deadline)
                    event.resolve(false)
                }
            }
            let isThere = await exchange.wait(for: event) != nil
            group.cancelAll()
            return isThere
        }
        if let ending = exchange.ending { throw ending }
        if !isThere { throw CurlewError(.cancelled, phase: .waiting, url: request.url) }
    }

    private func late(_ verdict: FollowerClocks.Verdict) -> CurlewError {
        CurlewError(
            verdict == .totalTimedOut ? .totalTimedOut : .firstByteTimedOut,
            phase: .waiting,
            reason: "the response to the same request, which was sent before, did not come in time",
            url: request.url,
            isSafeToRetry: true
        )
    }
}
