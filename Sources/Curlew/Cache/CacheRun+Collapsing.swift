internal import CurlewCore
internal import Foundation

// Of many requests for one response at the same time one is sent. The others wait for it, and what is found for them then is
// theirs like any other stored response: they go themselves where it is another variant, or not to be shared.
extension CacheRun {
    /// Where a request stands among others for the same response.
    enum Place {
        /// It can be sent: it is the first, or not to be compared with others.
        case free
        /// It is the first in this process; another process may have sent one.
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

    /// Whether this request is to be sent; false where the store is to be asked again.
    mutating func takesOff(from place: Place) async throws(CurlewError) -> Bool {
        switch place {
        case .free: return true
        case .late: return false
        case .claiming(let led):
            do throws(CurlewError) {
                guard try await claim() else {  // CacheRun+Waiting.swift
                    // Another process has stored it.
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

    /// The request that others may be waiting for is over.
    mutating func land(_ end: CacheFlight.End) async {
        let claim = flight?.claim
        landInProcess(end)
        await claim?.end(stored: end == .stored)
    }

    /// The same for a store that nothing was claimed from.
    mutating func landInProcess(_ end: CacheFlight.End) {
        guard let landed = flight else { return }
        flight = nil
        flights.land(landed, for: asked, end)
    }
}
