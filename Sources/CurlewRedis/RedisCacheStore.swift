public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A cache store in a Redis server, shared by the processes of a fleet.
///
///     let store = RedisCacheStore(url: "redis://:password@cache.internal/2")
///
/// A server that is slow, full or unreachable is a miss, never an error. Each operation has a time limit, and after
/// three faults in a row the server is not asked for a while. `faults` counts the faults; `ping()` reports the
/// reason.
///
/// An entry expires in the server at `CacheLifetime.usableUntil`. If several processes want one response, one of them
/// sends the request and the others wait for it (`claimFetch(of:)`).
///
/// Header fields whose names indicate secrets are not written. Bodies are written as they are, and every client
/// of the server can read them. Connections are not encrypted: `rediss` is `unsupported`.
public final class RedisCacheStore: CacheStore {
    let pool: RedisPool?
    let server: RedisServer?
    let keys: RedisKeys
    /// The claims that this process holds, by the names of their keys.
    let claims = Lock<[String: RedisClaims]>([:])
    let failedRemovals = FailedRemovals()
    private let problem: RedisFault?
    private let maximumEntrySize: Int64
    let claimTimes: RedisClaimTimes

    /// Creates a store. It connects at its first use.
    ///
    /// - Parameters:
    ///   - url: `redis://user:password@host:port/database`; only the host is required. With a URL that cannot be used
    ///     the store finds nothing, and `ping()` reports why.
    ///   - prefix: The prefix of the names of all keys of the store.
    ///   - maximumEntrySize: Larger responses are not stored.
    ///   - connectTimeout: The time limit for a new connection.
    ///   - operationTimeout: The time limit for the response to one operation.
    ///   - connections: The maximum number of connections.
    public convenience init(
        url: String,
        prefix: String = "curlew:",
        maximumEntrySize: Int64 = 4 << 20,
        connectTimeout: Duration = .milliseconds(20),
        operationTimeout: Duration = .milliseconds(50),
        connections: Int = 4
    ) {
        self.init(
            url: url,
            prefix: prefix,
            maximumEntrySize: maximumEntrySize,
            connectTimeout: connectTimeout,
            operationTimeout: operationTimeout,
            connections: connections,
            claimTimes: RedisClaimTimes()
        )
    }

    package init(
        url: String,
        prefix: String,
        maximumEntrySize: Int64,
        connectTimeout: Duration,
        operationTimeout: Duration,
        connections: Int,
        claimTimes: RedisClaimTimes
    ) {
        keys = RedisKeys(prefix: prefix)
        self.claimTimes = claimTimes
        self.maximumEntrySize = max(0, maximumEntrySize)
        do throws(RedisFault) {
            let server = RedisServer(
                try RedisAddress(url),
                connectTimeout: connectTimeout,
                operationTimeout: operationTimeout,
                maximumAnswer: Self.maximumAnswer(maximumEntrySize: maximumEntrySize)
            )
            self.server = server
            pool = RedisPool(server, connections: connections)
            problem = nil
        } catch {
            (server, pool, problem) = (nil, nil, error)
        }
    }

    /// The most bytes of one exchange. A lookup may return several whole entries.
    static func maximumAnswer(maximumEntrySize: Int64) -> Int {
        let room = 64 << 20
        return room + min(max(0, Int(clamping: maximumEntrySize)), .max - room)
    }

    /// The faults since the store was created, by kind.
    public var faults: RedisCacheFaults { server?.counts.withLock { $0 } ?? RedisCacheFaults() }

    /// Checks that the server responds.
    /// - Throws: `invalidURL` or `unsupported` for the URL, `connectFailed`, `connectTimedOut`, `authenticationFailed`
    ///   or `protocolViolation`.
    public func ping() async throws(CurlewError) {
        switch await ask([RedisCommand("PING")]) {
        case .success(let replies):
            if case .error(let text)? = replies.first { throw RedisFault.rejected(text).error }
        case .failure(let fault): throw fault.error
        }
    }

    /// Sends commands together.
    func ask(_ commands: [RedisCommand]) async -> Result<[RedisReply], RedisFault> {
        guard let pool else { return .failure(problem ?? .suspended) }
        return await pool.ask(commands)
    }

    /// Returns the replies, or `nil` if the server did not respond or refused a command.
    func replies(_ commands: [RedisCommand]) async -> [RedisReply]? {
        guard case .success(let replies) = await ask(commands) else { return nil }
        guard !replies.contains(where: \.isError) else {
            count(\.refused)
            return nil
        }
        return replies
    }

    func count(_ member: WritableKeyPath<RedisCacheFaults, Int>) {
        server?.counts.withLock { $0[keyPath: member] += 1 }
    }

    // MARK: Looking up

    public func entries(for key: CacheKey) async -> [StoredEntry] {
        await failedRemovals.entries(for: key, startRetry: { Task { await retryRemovals() } }, lookUp: stored)
    }

    private func stored(_ key: CacheKey) async -> [StoredEntry] {
        let name = keys.entries(key)
        guard let fields = await fields(of: key, name) else { return [] }
        var (found, useless): ([StoredEntry], [RedisCommand]) = ([], [])
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let field = fields[index].data, let value = fields[index + 1].data else { continue }
            guard let record = RedisRecord(value), field == RedisKeys.field(record.entry.variant) else {
                count(\.damagedEntries)
                useless.append(removeCommand(for: value, field, name))
                continue
            }
            guard record.entry.key == key else { continue }
            // The hash lives as long as its longest-lived variant. The chunks of this variant have expired.
            guard !isOver(record.entry) else {
                useless.append(removeCommand(for: value, field, name))
                continue
            }
            let body: any CacheBody =
                record.isInline ? DataCacheBody(record.rest) : RedisCacheBody(store: self, record: record)
            found.append(StoredEntry(entry: record.entry, body: body))
        }
        if !useless.isEmpty { _ = await replies(useless) }
        return found
    }

    /// Returns the variants of a key with their records, or `nil` if none may be used.
    private func fields(of key: CacheKey, _ name: String) async -> [RedisReply]? {
        let (url, origin) = (keys.url(key.url), keys.origin(key.origin))
        // A server that needs memory may evict the sets through which removals find the hash. A hash that removals
        // cannot find is a miss. Reading the sets also counts as a use of them, so that the server evicts them later.
        //
        // The sets are read before the hash. In the opposite order another process could store an entry, and create the
        // set again, after this lookup has read an old hash; the new set would then vouch for a hash that removals have
        // missed.
        let commands = [
            RedisCommand("SISMEMBER", origin, url), RedisCommand("SISMEMBER", url, name),
            RedisCommand("HGETALL", name).expecting(RedisRecord.inlineLimit),
        ]
        guard let replies = await replies(commands), replies.prefix(2).allSatisfy({ $0.number == 1 }) else {
            return nil
        }
        return replies.last?.elements
    }

    /// Returns chunks of a body, or `nil` if one is missing or damaged. Then the entry is removed, unless it has been
    /// replaced or removed already.
    func chunks(_ numbers: Range<Int>, of record: RedisRecord) async -> [Data]? {
        let commands = numbers.map {
            RedisCommand("GET", keys.chunk(record.entry.id, $0)).expecting(RedisRecord.chunkSize)
        }
        guard let replies = await replies(commands) else { return nil }
        let chunks = zip(numbers, replies).compactMap { number, reply -> Data? in
            let length = min(Int64(RedisRecord.chunkSize), record.size - Int64(number) * Int64(RedisRecord.chunkSize))
            guard let chunk = reply.data, Int64(chunk.count) == length else { return nil }
            return RedisRecord.check(chunk, number: number) == record.check(ofChunk: number) ? chunk : nil
        }
        guard chunks.count == numbers.count else {
            // Chunks of an entry that expired since the lookup are missing as expected; that is no damage.
            if await remove(CacheRemoval(record.entry)) == .done, !isOver(record.entry) { count(\.damagedEntries) }
            return nil
        }
        return chunks
    }

    public func size() async -> Int64 {
        var sum: Int64 = 0
        await forEachBatch { [self] names in
            let commands = names.map { RedisCommand([Data("MEMORY".utf8), Data("USAGE".utf8), $0]) }
            for reply in await replies(commands) ?? [] { sum += reply.number ?? 0 }
            return true
        }
        return sum
    }

    // MARK: Storing

    /// The time to live of an entry in milliseconds, or `nil` if the entry is already useless.
    func timeToLive(_ lifetime: CacheLifetime) -> Int64? {
        let rest = lifetime.usableUntil.timeIntervalSinceNow * 1000
        let least = lifetime.canBeValidated ? Self.timeToValidate * 1000 : 0
        let time = rest > 0 ? rest : least
        return time >= 1 ? Int64(min(time, 31_536_000_000)) : nil
    }

    /// The time to live of an entry that must be validated for each use. It would otherwise have none.
    private static let timeToValidate: TimeInterval = 300

    /// Whether the time to live that an entry was stored with has passed.
    private func isOver(_ entry: CacheEntry) -> Bool {
        guard entry.lifetime.usableUntil.timeIntervalSinceNow <= 0 else { return false }
        let came = entry.response.responseTime
        guard entry.lifetime.canBeValidated, entry.lifetime.usableUntil <= came else { return true }
        return came.timeIntervalSinceNow < -Self.timeToValidate
    }

    public func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)? {
        let entry = entry.withoutCredentials
        let limit = maximumEntrySize - Int64(entry.encoded.count)
        guard max(0, expectedSize ?? 0) <= limit, timeToLive(entry.lifetime) != nil, server?.mayAnswer == true else {
            return nil
        }
        return RedisCacheWriter(self, entry, limit: limit)
    }

    /// Stores a chunk before its entry exists. The chunk expires after ten minutes if the entry is never committed.
    func put(_ chunk: Data, number: Int, of entry: CacheEntry) async -> Bool {
        let arguments = ["SET", keys.chunk(entry.id, number)].map { Data($0.utf8) }
        let end = ["PX", "600000"].map { Data($0.utf8) }
        return await replies([RedisCommand(arguments + [chunk] + end)])?.first?.isOK ?? false
    }

    /// Commits a record. Returns `nil` if the server did not respond, so that the result is unknown.
    func commit(_ record: RedisRecord) async -> Bool? {
        guard let time = timeToLive(record.entry.lifetime),
            await failedRemovals.mayStore(record.entry.key, retry: retryRemovals)
        else { return false }
        let command = RedisCommand(
            script: RedisScripts.commit,
            keys: names(of: record),
            [RedisKeys.field(record.entry.variant), record.encoded, Data("\(time)".utf8), Data(keys.chunks.utf8)]
        )
        guard case .success(let replies) = await ask([command]) else { return nil }
        if replies.contains(where: \.isError) { count(\.refused) }
        return replies.first?.number == 1
    }

    public func update(_ entry: CacheEntry) async {
        let entry = entry.withoutCredentials
        guard let (old, bytes) = await stored(entry), let time = timeToLive(entry.lifetime) else { return }
        let record = RedisRecord(entry: entry, size: old.size, rest: old.rest)
        _ = await replies([
            RedisCommand(
                script: RedisScripts.update,
                keys: names(of: record),
                [RedisKeys.field(entry.variant), record.encoded, Data("\(time)".utf8), bytes]
            )
        ])
    }

    // MARK: Removing

    private func removeCommand(for record: Data, _ field: Data, _ name: String) -> RedisCommand {
        RedisCommand(script: RedisScripts.remove, keys: [name], [field, record, Data(keys.chunks.utf8)])
    }

    func removeChunks(of entry: CacheEntry, count: Int) async {
        guard count > 0 else { return }
        _ = await replies([RedisCommand(["UNLINK"] + keys.chunks(entry.id, count: count))])
    }

    // MARK: Records

    /// The record with the entry's id, and its bytes. `nil` if the record is missing or has another id.
    private func stored(_ entry: CacheEntry) async -> (RedisRecord, Data)? {
        guard let reply = await record(entry.key, entry.variant), let bytes = reply.data,
            let record = RedisRecord(bytes), record.entry.id == entry.id
        else { return nil }
        return (record, bytes)
    }

    /// The record stored for a key and variant, as a reply. `nil` if the server did not respond.
    func record(_ key: CacheKey, _ variant: String) async -> RedisReply? {
        let command = RedisCommand([
            Data("HGET".utf8), Data(keys.entries(key).utf8), RedisKeys.field(variant),
        ])
        return await replies([command])?.first
    }

    private func names(of record: RedisRecord) -> [String] {
        let entry = record.entry
        let sets = [keys.url(entry.key.url), keys.origin(entry.key.origin)]
        return [keys.entries(entry.key)] + sets + keys.chunks(entry.id, count: record.chunkCount)
    }

    /// Passes the names of all keys of the store to `body`, in batches. Returns false if the scan did not finish.
    ///
    /// The number of calls is bounded, because a peer that is no Redis server might never end the scan. The bound
    /// leaves room for tens of millions of names.
    @discardableResult
    private func forEachBatch(_ body: ([Data]) async -> Bool) async -> Bool {
        var cursor = Data("0".utf8)
        for _ in 0..<100_000 {
            let command =
                [Data("SCAN".utf8), cursor] + ["MATCH", keys.everything, "COUNT", "500"].map { Data($0.utf8) }
            guard let parts = await replies([RedisCommand(command)])?.first?.elements, parts.count == 2,
                let next = parts[0].data, next.allSatisfy(ASCII.isDigit),
                let names = parts[1].elements?.compactMap(\.data), !Task.isCancelled
            else { return false }
            if !names.isEmpty, await !body(names) { return false }
            cursor = next
            if cursor == Data("0".utf8) { return true }
        }
        return false
    }
}

extension RedisCacheStore {
    public func remove(_ entry: CacheEntry) async { _ = await remove(CacheRemoval(entry)) }

    public func removeAll(url: String) async { _ = await remove(.url(url)) }

    public func removeAll(origin: String) async { _ = await remove(.origin(origin)) }

    public func removeAll() async { _ = await remove(.everything) }

    // MARK: Failed removals

    enum RemovalResult { case done, notThere, failed }

    /// Removes entries. A removal that fails is recorded, because lookups would find the entries again, and is tried
    /// later.
    func remove(_ removal: CacheRemoval) async -> RemovalResult {
        let result = await attempt(removal)
        if result == .failed, server != nil { await failedRemovals.add(removal) }
        return result
    }

    /// Repeats the failed removals, unless the breaker keeps the server from being asked.
    private func retryRemovals() async {
        guard server?.mayAnswer == true else { return }
        await failedRemovals.retry { await attempt($0) != .failed }
    }

    // MARK: Commands

    private func attempt(_ removal: CacheRemoval) async -> RemovalResult {
        switch removal {
        case .entry(let id, let key, let variant): return await remove(id, key, variant)
        case .url(let url): return await remove(url: url) ? .done : .failed
        case .origin(let origin): return await remove(origin: origin) ? .done : .failed
        case .everything: return await removeEverything() ? .done : .failed
        }
    }

    private func remove(_ id: String, _ key: CacheKey, _ variant: String) async -> RemovalResult {
        guard let reply = await record(key, variant) else { return .failed }
        guard let bytes = reply.data, let record = RedisRecord(bytes), record.entry.id == id else { return .notThere }
        let removal = removeCommand(for: bytes, RedisKeys.field(variant), keys.entries(key))
        guard let count = await replies([removal])?.first?.number else { return .failed }
        return count == 1 ? .done : .notThere
    }

    private func remove(url: String) async -> Bool {
        let command = RedisCommand(
            script: RedisScripts.removeURL,
            keys: [keys.url(url), keys.entries(CacheKey(url: url))],
            [Data(keys.chunks.utf8)]
        )
        return await replies([command])?.first?.number != nil
    }

    private func remove(origin: String) async -> Bool {
        let command = RedisCommand(
            script: RedisScripts.removeOrigin,
            keys: [keys.origin(origin)],
            [Data(keys.chunks.utf8), Data("50".utf8)]
        )
        // Each call removes the entries of some URLs only, because a script blocks the server. The loop is bounded for
        // a peer that is no Redis server and never returns zero.
        for _ in 0..<20_000 {
            guard let count = await replies([command])?.first?.number else { return false }
            if count <= 0 { return true }
        }
        return false
    }

    private func removeEverything() async -> Bool {
        await forEachBatch { [self] names in await replies([RedisCommand([Data("UNLINK".utf8)] + names)]) != nil }
    }
}
