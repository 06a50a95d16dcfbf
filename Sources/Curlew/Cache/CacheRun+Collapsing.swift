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
                guard try await claim() else {  // CacheRun+Waiting.swift
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
