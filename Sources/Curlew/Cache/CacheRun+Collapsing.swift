internal import CurlewCore
internal import Foundation

// Of many simultaneous requests for one response, only one is sent. The others wait for it and then ask the store
// again. They are sent themselves if the response is another variant, or cannot be shared.
extension CacheRun {
    /// Joins the requests for one response, or leads them. `mark` is the value of `SharedFetches.storedCount` before
    /// the store was asked. Returns `nil` if the request can be sent at once: it leads the others and needs no claim
    /// from the store, or it does not take part in collapsing.
    mutating func role(since mark: UInt64, mayWait: Bool) -> SharedFetches.Role? {
        guard asked.isPlain, cache.collapsesRequests, mayWait, !isInBackground, awaited != .notStored else {
            return nil
        }
        let role = fetches.join(asked, since: mark)
        guard case .lead(let led) = role, !cache.storeMayWait else { return role }
        fetch = led
        return nil
    }

    /// Waits until the request can be sent. Returns `false` if the store has to be asked again.
    mutating func waitForTurn(as role: SharedFetches.Role) async throws(CurlewError) -> Bool {
        switch role {
        case .lookAgain: return false
        case .lead(let led):
            // No other request of this process leads, but another process may have sent one.
            do throws(CurlewError) {
                guard try await claim() else {
                    // Another process has stored the response.
                    fetches.end(led, for: asked, .stored)
                    return false
                }
            } catch {
                fetches.end(led, for: asked, .failed)
                throw error
            }
            var claimed = led
            claimed.claim = CacheClaim(of: asked.key, from: cache.store)
            fetch = claimed
            return true
        case .wait(let other):
            let end = try await end(of: other)
            awaited = end
            return end == .notStored
        }
    }

    /// Ends the fetch that this request leads, and its claim.
    mutating func endFetch(_ end: SharedFetch.End) async {
        let claim = fetch?.claim
        endFetchInProcess(end)
        await claim?.end(stored: end == .stored)
    }

    /// Ends the fetch that this request leads, if there is no claim.
    mutating func endFetchInProcess(_ end: SharedFetch.End) {
        guard let ended = fetch else { return }
        fetch = nil
        fetches.end(ended, for: asked, end)
    }
}

// Waits for another request's fetch, or for the store's claim. The reader and the time limits of the request can end
// both waits.
extension CacheRun {
    /// Waits for the end of a fetch that another request leads.
    private mutating func end(of other: FetchWaiters) async throws(CurlewError) -> SharedFetch.End {
        let delivery = ownDelivery()
        let timeouts = WaiterTimeouts(request.options.timeouts, remaining: budget.remaining, joined: .now)
        while true {
            if let end = other.end { return end }
            let limit = timeouts.limit(lastBytes: other.lastBytes)
            if let limit, limit.instant <= .now {
                guard limit.verdict == .stalled else { throw timeout(limit.verdict) }
                // One of the waiting requests leads the next fetch.
                other.end(.abandoned)
                continue
            }
            let event = OneShot<Bool>()
            other.add(event)
            try await wait(on: delivery, for: event, until: limit?.instant)
        }
    }

    /// Waits until the store lets this process send the request. Returns `false` if another process has stored the
    /// response.
    private mutating func claim() async throws(CurlewError) -> Bool {
        let (store, key) = (cache.store, asked.key)
        let delivery = ownDelivery()
        let timeouts = WaiterTimeouts(request.options.timeouts, remaining: budget.remaining, joined: .now)
        let limit = timeouts.limit(lastBytes: nil)
        let (event, answer) = (OneShot<Bool>(), OneShot<Bool>())
        var error = await withTaskGroup(of: Void.self) { [self] group -> CurlewError? in
            group.addTask {
                answer.resolve(await store.claimFetch(of: key))
                event.resolve(true)
            }
            defer { group.cancelAll() }
            do throws(CurlewError) {
                try await wait(on: delivery, for: event, until: limit?.instant)
                return nil
            } catch {
                return error
            }
        }
        let isOurs = answer.value ?? true
        if error == nil, event.value == false, limit?.verdict == .totalTimedOut { error = timeout(.totalTimedOut) }
        guard let error else { return isOurs }
        if isOurs { await store.fetchEnded(of: key, stored: false) }
        throw error
    }

    /// Returns at the event or at the deadline. Throws the error with which the request was ended.
    private func wait(
        on delivery: ResponseDelivery,
        for event: OneShot<Bool>,
        until deadline: ContinuousClock.Instant?
    ) async throws(CurlewError) {
        let hasArrived = await withTaskGroup(of: Void.self) { group in
            if let deadline {
                group.addTask {
                    _ = await Pause.wait(until: deadline)
                    event.resolve(false)
                }
            }
            let hasArrived = await delivery.wait(for: event) != nil
            group.cancelAll()
            return hasArrived
        }
        if let ending = delivery.ending { throw ending }
        if !hasArrived { throw CurlewError(.cancelled, phase: .waiting, url: request.url) }
    }

    private func timeout(_ verdict: WaiterTimeouts.Verdict) -> CurlewError {
        CurlewError(
            verdict == .totalTimedOut ? .totalTimedOut : .firstByteTimedOut,
            phase: .waiting,
            reason: "the response to the same request, which was sent before, did not come in time",
            url: request.url,
            isSafeToRetry: true
        )
    }
}
