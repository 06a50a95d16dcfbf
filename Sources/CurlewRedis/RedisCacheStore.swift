public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Keeps responses for the caches of a fleet in a Redis server.
///
///     let store = RedisCacheStore(url: "redis://:password@cache.internal/2")
///
/// A server that is slow, full or gone is a miss, and never an error: each operation has a time limit, and after three that
/// failed the server is not asked for a while. `faults` counts what went wrong; `ping()` says what it is.
///
/// An entry's time in the server ends with `CacheLifetime.usableUntil`. Of many processes that want one response one sends the
/// request, and the others wait for it (`claimFetch`).
///
/// Fields of responses whose names say that they are secret are not written. Bodies are written as they are, and every client of
/// the server can read them. Connections are not encrypted: `rediss` is `unsupported`.
public final class RedisCacheStore: CacheStore {
    let pool: RedisPool?
    let server: RedisServer?
    let keys: RedisKeys
    /// The claims that this process has, by the names of their keys.
    let claims = Lock<[String: RedisClaims]>([:])
    let failedRemovals = Lock(PendingCacheRemovals())
    private let problem: RedisFault?
    private let maximumEntrySize: Int64
    let claimTimes: RedisClaimTimes

    /// Creates a store. It connects when it is first used.
    ///
    /// - Parameters:
    ///   - url: `redis://user:password@host:port/database`; all but the host may be left out. With a URL that cannot be used
    ///     the store finds nothing, and `ping()` says why.
    ///   - prefix: What the names of all its keys begin with.
    ///   - maximumEntrySize: Responses with more bytes are not stored.
    ///   - connectTimeout: How long a new connection may take.
    ///   - operationTimeout: How long the server may take for an answer.
    ///   - connections: How many connections there are at most.
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

    /// Several whole entries may be asked for together.
    static func maximumAnswer(maximumEntrySize: Int64) -> Int {
        let room = 64 << 20
        return room + min(max(0, Int(clamping: maximumEntrySize)), .max - room)
    }

    /// What went wrong since the store was made.
    public var faults: RedisCacheFaults { server?.counts.withLock { $0 } ?? RedisCacheFaults() }

    /// Asks the server whether it is there.
    ///
    /// - Throws: `invalidURL` or `unsupported` for the URL, `connectFailed`, `connectTimedOut`, `authenticationFailed` or
    ///   `protocolViolation`.
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

    /// The replies; nil where the server did not answer, or refused a command.
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
        let before = pendingRemovals
        if !before.isEmpty { Task { await retryRemovals() } }
        guard !before.cover(key) else { return [] }
        return before.uncovered(await stored(key), pendingRemovals)
    }

    private func stored(_ key: CacheKey) async -> [StoredEntry] {
        let name = keys.entries(key)
        guard let fields = await fields(of: key, name) else { return [] }
        var (found, useless): ([StoredEntry], [RedisCommand]) = ([], [])
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let field = fields[index].data, let value = fields[index + 1].data else { continue }
            guard let record = RedisRecord(value), field == RedisKeys.field(record.entry.variant) else {
                count(\.damagedEntries)
                useless.append(removal(of: value, field, name))
                continue
            }
            guard record.entry.key == key else { continue }
            // The hash lives as long as another variant; the chunks of this one do not.
            guard !isOver(record.entry) else {
                useless.append(removal(of: value, field, name))
                continue
            }
            let body: any CacheBody =
                record.isInline ? DataCacheBody(record.rest) : RedisCacheBody(store: self, record: record)
            found.append(StoredEntry(entry: record.entry, body: body))
        }
        if !useless.isEmpty { _ = await replies(useless) }
        return found
    }

    /// The variants of a key with their records; nil where there are none that may be used.
    private func fields(of key: CacheKey, _ name: String) async -> [RedisReply]? {
        let (url, origin) = (keys.url(key.url), keys.origin(key.origin))
        // A server that wants room may drop the sets by which removals find the hash. What they have not found is a miss. To
        // ask is also a use of the sets, so that the server counts them among what was used last. They are asked first: a set
        // that another process makes anew behind the lookup says nothing of what was found before.
        let commands = [
            RedisCommand("SISMEMBER", origin, url), RedisCommand("SISMEMBER", url, name),
            RedisCommand("HGETALL", name).expecting(RedisRecord.inlineLimit),
        ]
        guard let replies = await replies(commands), replies.prefix(2).allSatisfy({ $0.number == 1 }) else {
            return nil
        }
        return replies.last?.elements
    }

    /// Chunks of a body; nil where one is gone or damaged. Then the entry is removed, if it is not replaced or removed already.
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
            // The chunks may have ended with the entry's time since it was found.
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

    /// How long an entry is kept from now on, in milliseconds; nil where it is of no use any more.
    func timeToLive(_ lifetime: CacheLifetime) -> Int64? {
        let rest = lifetime.usableUntil.timeIntervalSinceNow * 1000
        let least = lifetime.canBeValidated ? Self.timeToValidate * 1000 : 0
        let time = rest > 0 ? rest : least
        return time >= 1 ? Int64(min(time, 31_536_000_000)) : nil
    }

    /// A response that has to be validated each time would have no time at all.
    private static let timeToValidate: TimeInterval = 300

    /// Whether the time is over that an entry was stored with.
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

    /// A chunk of a body whose entry is not there yet. It ends by itself should the entry never come.
    func put(_ chunk: Data, number: Int, of entry: CacheEntry) async -> Bool {
        let arguments = ["SET", keys.chunk(entry.id, number)].map { Data($0.utf8) }
        let end = ["PX", "600000"].map { Data($0.utf8) }
        return await replies([RedisCommand(arguments + [chunk] + end)])?.first?.isOK ?? false
    }

    /// nil where that is not known, because the server has not answered.
    func commit(_ record: RedisRecord) async -> Bool? {
        guard let time = timeToLive(record.entry.lifetime), await mayStore(record.entry.key) else { return false }
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

    func removal(of record: Data, _ field: Data, _ name: String) -> RedisCommand {
        RedisCommand(script: RedisScripts.remove, keys: [name], [field, record, Data(keys.chunks.utf8)])
    }

    func removeChunks(of entry: CacheEntry, count: Int) async {
        guard count > 0 else { return }
        _ = await replies([RedisCommand(["UNLINK"] + keys.chunks(entry.id, count: count))])
    }

    // MARK: Records

    /// The record with the id of an entry, and its bytes; nil where there is another one or none.
    private func stored(_ entry: CacheEntry) async -> (RedisRecord, Data)? {
        guard let reply = await record(entry.key, entry.variant), let bytes = reply.data,
            let record = RedisRecord(bytes), record.entry.id == entry.id
        else { return nil }
        return (record, bytes)
    }

    /// What stands in the place of an entry; nil where the server did not answer.
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

    /// All names of the store, some at a time; false where it did not come to their end. What answers may be no Redis, and
    /// have no end: it is asked so often that tens of millions of names have room.
    @discardableResult
    func forEachBatch(_ body: ([Data]) async -> Bool) async -> Bool {
        var cursor = Data("0".utf8)
        for _ in 0..<100_000 {
            let command =
                [Data("SCAN".utf8), cursor] + ["MATCH", keys.everything, "COUNT", "500"].map { Data($0.utf8) }
            guard let parts = await replies([RedisCommand(command)])?.first?.elements, parts.count == 2,
                let next = parts[0].data, next.allSatisfy({ (0x30...0x39).contains($0) }),
                let names = parts[1].elements?.compactMap(\.data), !Task.isCancelled
            else { return false }
            if !names.isEmpty, await !body(names) { return false }
            cursor = next
            if cursor == Data("0".utf8) { return true }
        }
        return false
    }
}
