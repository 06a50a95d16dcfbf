public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The claims of this process to one key.
struct RedisClaims: Sendable {
    /// How many requests were let through, and are not over: also those that did not wait for a claim any longer.
    var open = 0
    /// What may stand in the server for them. Nearly always one.
    var tokens: [Data] = []
}

// A claim is a key with a random token and an end. What stands there when it is over tells the waiters what to do: `stored`,
// look for the entry; `useless`, send your own requests for a while. Both are too short for tokens.
extension RedisCacheStore {
    private static let stored = Data("+".utf8)
    private static let useless = Data("-".utf8)

    public func claimFetch(of key: CacheKey) async -> Bool {
        let name = keys.claim(key)
        let token = RedisRecord.bytes(UInt64.random(in: 0...UInt64.max), count: 8)
        // One exchange in the usual case: the key is free, or says who has it.
        guard var holder = await holder(of: name, claimedWith: token) else { return letThrough(name, token) }
        if holder == Self.useless { return letThrough(name) }
        // It has come since this process looked.
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
                // Another token stands for a claim that came after one that was over.
                if now != holder { return false }
                continue
            }
            // The other process has ended without a word. Of those that waited one takes over.
            guard let other = await self.holder(of: name, claimedWith: token) else { return letThrough(name, token) }
            if other == Self.useless { break }
            // Another one took over, and is ready by now.
            if other == Self.stored { return false }
            // Its claim is as long as the first one was: at the first one's deadline it may be under way.
            holder = other
            deadline = ContinuousClock.now.advanced(by: claimTimes.claim)
        }
        // A claim that is there for longer than claims last has no end of its own. It is removed, so that later
        // requests do not wait for it. One that came later is left alone, even if this request does not wait for it.
        if ContinuousClock.now >= deadline { await end([holder], of: name, stored: false) }
        return letThrough(name)
    }

    public func fetchEnded(of key: CacheKey, stored: Bool) async {
        let name = keys.claim(key)
        let tokens = claims.withLock { claims -> [Data] in
            guard var known = claims[name] else { return [] }
            known.open -= 1
            // Where another request of this process is under way its response may still be stored.
            let ends = stored || known.open == 0
            let ended = ends ? known.tokens : []
            if ends { known.tokens = [] }
            claims[name] = known.open == 0 ? nil : known
            return ended
        }
        guard !tokens.isEmpty else { return }
        await end(tokens, of: name, stored: stored)
    }

    /// Puts a mark in the place of a claim, if it still has one of these tokens.
    private func end(_ tokens: [Data], of name: String, stored: Bool) async {
        let (mark, time) =
            stored ? (Self.stored, claimTimes.stored) : (Self.useless, claimTimes.useless)
        let end = [mark, Self.milliseconds(time)]
        _ = await replies(tokens.map { RedisCommand(script: RedisScripts.endClaim, keys: [name], [$0] + end) })
    }

    /// What stands in the place of a claim where it is not this one. nil where it is: also where the server has not answered,
    /// because it may have set the claim all the same. Its end compares tokens.
    private func holder(of name: String, claimedWith token: Data) async -> Data? {
        let set =
            [Data("SET".utf8), Data(name.utf8), token]
            + [Data("NX".utf8), Data("PX".utf8), Self.milliseconds(claimTimes.claim)]
        guard let replies = await replies([RedisCommand(set), RedisCommand("GET", name)]), replies.count == 2,
            !replies[0].isOK
        else { return nil }
        // Commands may be sent twice: a first time may have set it.
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
