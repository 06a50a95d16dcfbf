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

/// The byte that replaces the token of a claim that ended. It tells the waiters what to do.
enum RedisClaimMark: UInt8 {
    /// Look up the entry.
    case stored = 0x2B  // "+"
    /// Send separate requests for a while: the response cannot be shared.
    case useless = 0x2D  // "-"

    /// Tokens are longer than one byte, so that a mark cannot be one.
    init?(_ value: Data) {
        guard value.count == 1, let byte = value.first else { return nil }
        self.init(rawValue: byte)
    }
}

/// A request's wait for the claim of another process.
struct RedisClaimWait {
    /// The token of the claim for which the request waits.
    private(set) var holder: Data
    private let time: Duration
    /// The end of the claim's time to live.
    private var deadline: ContinuousClock.Instant
    /// The end of the wait, even if several processes take over one after another.
    private let patience: ContinuousClock.Instant
    private var pause = Duration.milliseconds(4)

    init(for holder: Data, lasting time: Duration, since start: ContinuousClock.Instant) {
        (self.holder, self.time) = (holder, time)
        deadline = start.advanced(by: time)
        patience = start.advanced(by: time * 2)
    }

    func continues(at now: ContinuousClock.Instant) -> Bool { now < min(deadline, patience) }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool { now >= deadline }

    /// Returns the pause before the next look at the claim. Pauses grow up to 50 ms.
    mutating func nextPause() -> Duration {
        pause = min(pause * 3 / 2, .milliseconds(50))
        return pause
    }

    /// Waits for the claim with which another waiter took over. It lasts as long as the first one: at the deadline of
    /// the first its request may still be running.
    mutating func follow(_ next: Data, at now: ContinuousClock.Instant) {
        holder = next
        deadline = now.advanced(by: time)
    }
}

// A claim is a key with a random token and a time to live. When it ends, a mark replaces the token.
extension RedisCacheStore {
    public func claimFetch(of key: CacheKey) async -> Bool {
        let name = keys.claim(key)
        let token = RedisRecord.bytes(UInt64.random(in: 0...UInt64.max), count: 8)
        // In the common case one exchange is enough: it sets the claim or reads the token of its holder.
        guard let first = await holder(of: name, claimedWith: token) else { return letThrough(name, token) }
        if let mark = RedisClaimMark(first) { return mark == .stored ? false : letThrough(name) }
        var wait = RedisClaimWait(for: first, lasting: claimTimes.claim, since: .now)
        while wait.continues(at: .now) {
            guard (try? await Task.sleep(for: wait.nextPause())) != nil,
                let reply = await replies([RedisCommand("GET", name)])?.first
            else { break }
            var value = reply.data
            if value == nil {
                // The other process ended without releasing its claim, which has expired. One of the waiters takes over.
                value = await holder(of: name, claimedWith: token)
                guard let value else { return letThrough(name, token) }
                wait.follow(value, at: .now)
            }
            // A different token is a newer claim. The claim that this request waited for has ended.
            switch value.flatMap(RedisClaimMark.init) {
            case .useless: return letThrough(name)
            case .stored: return false
            case nil where value != wait.holder: return false
            case nil: continue
            }
        }
        // A claim that outlives its time to live never expires. Remove it, so that later requests do not wait for it.
        // The removal compares the token: a newer claim stays, even if this request stops waiting for it.
        if wait.isOverdue(at: .now) { await end([wait.holder], of: name, with: .useless) }
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
        await end(tokens, of: name, with: stored ? .stored : .useless)
    }

    /// Replaces a claim by a mark, if it still has one of these tokens.
    private func end(_ tokens: [Data], of name: String, with mark: RedisClaimMark) async {
        let time = mark == .stored ? claimTimes.stored : claimTimes.useless
        let end = [Data([mark.rawValue]), Self.milliseconds(time)]
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
