public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The claims of this process for one key.
struct RedisClaims: Sendable {
    /// The number of requests that were permitted and have not ended, including those that gave up waiting for a claim.
    var open = 0
    /// The tokens of these requests' claims. Almost always one.
    var tokens: [Data] = []
}

// A claim is a key with a random token and a time to live. When it ends, a mark of one byte replaces the token and
// tells the waiters what to do: after `stored`, look up the entry; after `useless`, send their own requests for a
// while. Tokens are longer, so that a mark cannot be one.
extension RedisCacheStore {
    private static let stored = Data("+".utf8)
    private static let useless = Data("-".utf8)

    public func claimFetch(of key: CacheKey) async -> Bool {
        let name = keys.claim(key)
        let token = RedisRecord.bytes(UInt64.random(in: 0...UInt64.max), count: 8)
        // In the common case one exchange is enough: it sets the claim or reads the token of its holder.
        guard var holder = await holder(of: name, claimedWith: token) else { return letThrough(name, token) }
        if holder == Self.useless { return letThrough(name) }
        // Another process stored the entry after this process looked it up.
        if holder == Self.stored { return false }
        var pause = Duration.milliseconds(4)
        let start = ContinuousClock.now
        let patience = start.advanced(by: claimTimes.claim * 2)
        var deadline = start.advanced(by: claimTimes.claim)
        while ContinuousClock.now < min(deadline, patience) {
            guard (try? await Task.sleep(for: pause)) != nil else { break }
            pause = min(pause * 3 / 2, .milliseconds(50))
            guard let reply = await replies([RedisCommand("GET", name)])?.first else { break }
            if let now = reply.data {
                if now == Self.useless { break }
                // A different token is a newer claim. The claim that this request waited for has ended.
                if now != holder { return false }
                continue
            }
            // The other process ended without releasing its claim, which has expired. One of the waiters takes over.
            guard let other = await self.holder(of: name, claimedWith: token) else { return letThrough(name, token) }
            if other == Self.useless { break }
            // Another waiter took over and has already stored the entry.
            if other == Self.stored { return false }
            // The new claim lasts as long as the first one. At the deadline of the first its request may still be
            // running.
            holder = other
            deadline = ContinuousClock.now.advanced(by: claimTimes.claim)
        }
        // A claim that outlives its time to live never expires. Remove it, so that later requests do not wait for it.
        // The removal compares the token: a newer claim stays, even if this request stops waiting for it.
        if ContinuousClock.now >= deadline { await end([holder], of: name, stored: false) }
        return letThrough(name)
    }

    public func fetchEnded(of key: CacheKey, stored: Bool) async {
        let name = keys.claim(key)
        let tokens = claims.withLock { claims -> [Data] in
            guard var known = claims[name] else { return [] }
            known.open -= 1
            // While another request of this process is running, its response may still be stored.
            let ends = stored || known.open == 0
            let ended = ends ? known.tokens : []
            if ends { known.tokens = [] }
            claims[name] = known.open == 0 ? nil : known
            return ended
        }
        guard !tokens.isEmpty else { return }
        await end(tokens, of: name, stored: stored)
    }

    /// Replaces a claim by a mark, if it still has one of these tokens.
    private func end(_ tokens: [Data], of name: String, stored: Bool) async {
        let (mark, time) =
            stored ? (Self.stored, claimTimes.stored) : (Self.useless, claimTimes.useless)
        let end = [mark, Self.milliseconds(time)]
        _ = await replies(tokens.map { RedisCommand(script: RedisScripts.endClaim, keys: [name], [$0] + end) })
    }

    /// Tries to set the claim. Returns the token or mark of its current holder, or `nil` if the claim is set.
    ///
    /// Also returns `nil` if the server did not respond, because it may have set the claim. Releasing a claim that was
    /// not set is harmless: it compares tokens.
    private func holder(of name: String, claimedWith token: Data) async -> Data? {
        let set =
            [Data("SET".utf8), Data(name.utf8), token]
            + [Data("NX".utf8), Data("PX".utf8), Self.milliseconds(claimTimes.claim)]
        guard let replies = await replies([RedisCommand(set), RedisCommand("GET", name)]), replies.count == 2,
            !replies[0].isOK
        else { return nil }
        // The commands may have been sent twice. Then the first `SET` succeeded and the second did not.
        return replies[1].data == token ? nil : replies[1].data
    }

    private static func milliseconds(_ time: Duration) -> Data { Data("\(Int64(time / .milliseconds(1)))".utf8) }

    private func letThrough(_ name: String, _ token: Data? = nil) -> Bool {
        claims.withLock { claims in
            var known = claims[name] ?? RedisClaims()
            known.open += 1
            if let token { known.tokens.append(token) }
            claims[name] = known
        }
        return true
    }
}

/// The times to live of a claim, and of the mark that replaces it when it ends.
package struct RedisClaimTimes: Sendable {
    /// The time to live of a claim. A process that ends without releasing its claim makes the others wait this long.
    /// One request waits at most twice as long, even if several processes take over one after another.
    package var claim = Duration.seconds(10)
    /// The time to live of the mark for a stored entry. It is for processes whose lookup ran before the entry was
    /// stored.
    package var stored = Duration.seconds(1)
    /// The time to live of the mark for a response that cannot be shared. Meanwhile waiters and new requests send their
    /// own requests.
    package var useless = Duration.seconds(3)

    package init() {}
}
