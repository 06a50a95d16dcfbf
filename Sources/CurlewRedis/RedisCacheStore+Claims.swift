public import CurlewCore
internal import CurlewLocks
internal import Foundation

// A claim is a key with a random token and an end. What stands there when it is over tells the waiters what to do: `stored`,
// look for the entry; `useless`, send your own requests for a while. Both are too short for tokens.
extension RedisCacheStore {
    private static let stored = Data("+".utf8)
    private static let useless = Data("-".utf8)

    public func claimFetch(of key: CacheKey) async -> Bool {
        let name = keys.claim(key)
        let token = RedisRecord.bytes(UInt64.random(in: 0...UInt64.max), count: 8)
        let set = [Data("SET".utf8), Data(name.utf8), token]
        let end = [Data("PX".utf8), Self.milliseconds(claimTimes.claim)]
        // One exchange in the usual case: the key is free, or says who has it.
        let first = await replies([RedisCommand(set + [Data("NX".utf8)] + end), RedisCommand("GET", name)])
        guard let first, first.count == 2 else { return true }
        if first[0].isOK { return take(token, name) }
        guard var holder = first[1].data, holder != Self.useless else { return true }
        // It has come since this process looked.
        if holder == Self.stored { return false }
        var pause = Duration.milliseconds(4)
        let deadline = ContinuousClock.now.advanced(by: claimTimes.claim)
        while ContinuousClock.now < deadline {
            guard (try? await Task.sleep(for: pause)) != nil else { return true }
            pause = min(pause * 3 / 2, .milliseconds(50))
            guard let reply = await replies([RedisCommand("GET", name)])?.first else { return true }
            guard let now = reply.data else {
                // The other process has ended without a word. Of those that waited one takes over.
                let again = await replies([RedisCommand(set + [Data("NX".utf8)] + end), RedisCommand("GET", name)])
                guard let again, again.count == 2 else { return true }
                if again[0].isOK { return take(token, name) }
                holder = again[1].data ?? holder
                continue
            }
            if now == Self.useless { return true }
            // Another token stands for a claim that came after one that was over.
            if now != holder { return false }
        }
        return true
    }

    public func fetchEnded(of key: CacheKey, stored: Bool) async {
        let name = keys.claim(key)
        guard let token = claims.withLock({ $0.removeValue(forKey: name) }) else { return }
        let (mark, time) =
            stored ? (Self.stored, claimTimes.stored) : (Self.useless, claimTimes.useless)
        _ = await replies([
            RedisCommand(script: RedisScripts.endClaim, keys: [name], [token, mark, Self.milliseconds(time)])
        ])
    }

    private static func milliseconds(_ time: Duration) -> Data { Data("\(Int64(time / .milliseconds(1)))".utf8) }

    private func take(_ token: Data, _ name: String) -> Bool {
        claims.withLock { $0[name] = token }
        return true
    }
}
