internal import CurlewCore

/// The scripts that the server runs, each as one atomic step.
///
/// A hash, the set of its URL and the set of its origin live as long as the longest-lived entry in them, unless the
/// server evicts them.
enum RedisScripts {
    /// `live` extends a key's time to live. `mark` adds a name to a set.
    ///
    /// Names of keys that have expired stay in the set. Each new name checks two random members and removes the expired
    /// ones, so that at most about half of a set is such names.
    private static let live = """
        local function live(key, ms)
            if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
        end
        local function mark(set, name, ms)
            if redis.call('SADD', set, name) == 1 then
                for _, other in ipairs(redis.call('SRANDMEMBER', set, 2)) do
                    if redis.call('EXISTS', other) == 0 then redis.call('SREM', set, other) end
                end
            end
            live(set, ms)
        end

        """

    /// `forget` releases the chunks of a record that is no longer an entry (see `RedisRecord` for its layout), unless
    /// they belong to the entry `kept`.
    ///
    /// A body of up to eight chunks is read in one exchange before its first byte is handed out, so its chunks are
    /// deleted at once. The chunks of a longer body are kept for another minute, for readers that have begun.
    private static let forget = """
        local function id(record) return string.sub(record, 24, 55) end
        local function forget(record, chunks, kept)
            if not record or #record < 55 or string.byte(record, 23) ~= 32 or id(record) == kept then return end
            local size = 0
            for i = 17, 10, -1 do size = size * 256 + string.byte(record, i) end
            if size <= \(RedisRecord.inlineLimit) then return end
            local count = math.min(math.ceil(size / \(RedisRecord.chunkSize)), math.floor(#record / 8))
            for i = 0, count - 1 do
                local chunk = chunks .. id(record) .. ':' .. i
                if count <= \(RedisRecord.chunksAtOnce) then
                    redis.call('UNLINK', chunk)
                elseif redis.call('PTTL', chunk) > 60000 then
                    redis.call('PEXPIRE', chunk, 60000)
                end
            end
        end
        local function forgetKey(key, chunks, kept)
            local records = redis.call('HVALS', key)
            if #records == 0 then return end
            for _, record in ipairs(records) do forget(record, chunks, kept) end
            redis.call('UNLINK', key)
        end
        local function forgetURL(set, chunks, kept)
            local keys = redis.call('SMEMBERS', set)
            if #keys == 0 then return 0 end
            for _, key in ipairs(keys) do forgetKey(key, chunks, kept) end
            return redis.call('UNLINK', set)
        end

        """

    /// `limit` reduces a hash to `Variants.maximumPerKey` variants and keeps the latest responses.
    ///
    /// The date is read from the record: it is the third number from the end, and a byte of flags precedes the last
    /// two. A record of the last use would turn every hit into a write.
    private static let limit = """
        local function came(record)
            if #record < 55 then return 0 end
            local last = 21
            for i = 0, 3 do last = last + string.byte(record, 18 + i) * 256 ^ i end
            local function number()
                if last < 24 or last > #record then return 0 end
                local value = string.byte(record, last)
                last = last - 1
                while last > 23 and string.byte(record, last) >= 128 do
                    value = value * 128 + string.byte(record, last) - 128
                    last = last - 1
                end
                return value
            end
            number()
            number()
            last = last - 1
            return number()
        end
        local function limit(key, new, chunks)
            if redis.call('HLEN', key) <= \(Variants.maximumPerKey) then return end
            local all, others = redis.call('HGETALL', key), {}
            for i = 1, #all, 2 do
                if all[i] ~= new then table.insert(others, {all[i], all[i + 1], came(all[i + 1])}) end
            end
            table.sort(others, function(one, two) return one[3] < two[3] end)
            for i = 1, #others + 1 - \(Variants.maximumPerKey) do
                redis.call('HDEL', key, others[i][1])
                forget(others[i][2], chunks)
            end
        end

        """

    /// Stores a record. Returns 0 if one of its chunks has expired.
    ///
    /// KEYS: hash, set of its URL, set of its origin, chunks. ARGV: field, record, milliseconds, prefix of the chunks'
    /// names.
    ///
    /// The server may have evicted a set while its hashes are still there. Removals since then have not found those
    /// hashes, so they are deleted before the set names them again.
    ///
    /// Otherwise `HSET` is the first write, because the server checks its memory limit only at the first write of a
    /// script. If it refuses the record, the chunks still expire ten minutes after they were sent: they get the entry's
    /// time to live only with an entry. No key expires while a script runs, so the chunks that exist at its beginning
    /// exist at its end.
    static let commit =
        live + forget + limit + """
            for i = 4, #KEYS do
                if redis.call('EXISTS', KEYS[i]) == 0 then return 0 end
            end
            if redis.call('SISMEMBER', KEYS[3], KEYS[2]) == 0 then forgetURL(KEYS[2], ARGV[4], id(ARGV[2])) end
            if redis.call('SISMEMBER', KEYS[2], KEYS[1]) == 0 then forgetKey(KEYS[1], ARGV[4], id(ARGV[2])) end
            local replaced = redis.call('HGET', KEYS[1], ARGV[1])
            redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
            for i = 4, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
            forget(replaced, ARGV[4], id(ARGV[2]))
            limit(KEYS[1], ARGV[1], ARGV[4])
            live(KEYS[1], tonumber(ARGV[3]))
            mark(KEYS[2], KEYS[1], tonumber(ARGV[3]))
            mark(KEYS[3], KEYS[2], tonumber(ARGV[3]))
            return 1
            """

    /// Replaces a record. Returns 0 and changes nothing if a removal could not have found the old record, or if a chunk
    /// has expired.
    ///
    /// KEYS: hash, set of its URL, set of its origin, chunks. ARGV: field, record, milliseconds, the record to replace.
    static let update =
        live + """
            if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[4] then return 0 end
            if redis.call('SISMEMBER', KEYS[3], KEYS[2]) == 0 then return 0 end
            if redis.call('SISMEMBER', KEYS[2], KEYS[1]) == 0 then return 0 end
            for i = 4, #KEYS do
                if redis.call('EXISTS', KEYS[i]) == 0 then return 0 end
            end
            redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
            for i = 4, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
            live(KEYS[1], tonumber(ARGV[3]))
            mark(KEYS[2], KEYS[1], tonumber(ARGV[3]))
            mark(KEYS[3], KEYS[2], tonumber(ARGV[3]))
            return 1
            """

    /// Removes a record, unless another one has replaced it.
    ///
    /// KEYS: hash. ARGV: field, the record to remove, prefix of the chunks' names.
    static let remove =
        forget + """
            if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
            redis.call('HDEL', KEYS[1], ARGV[1])
            forget(ARGV[2], ARGV[3])
            return 1
            """

    /// Removes all entries of a URL.
    ///
    /// KEYS: set of the URL, hash of the URL without a partition (its name is known even if the set is evicted). ARGV:
    /// prefix of the chunks' names.
    static let removeURL =
        forget + """
            forgetKey(KEYS[2], ARGV[1])
            return forgetURL(KEYS[1], ARGV[1])
            """

    /// Removes the entries of some URLs of an origin. Returns how many URLs it took from the set.
    ///
    /// KEYS: set of the origin. ARGV: prefix of the chunks' names, the most URLs for one call.
    static let removeOrigin =
        forget + """
            local sets = redis.call('SPOP', KEYS[1], ARGV[2])
            for _, set in ipairs(sets) do forgetURL(set, ARGV[1]) end
            return #sets
            """

    /// Replaces a claim by a mark, if it still has the token.
    ///
    /// KEYS: claim. ARGV: the claim's token, the mark, milliseconds.
    static let endClaim = """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
        return 1
        """

    /// Leases requests of a rate. Returns their number, the microseconds until the rate permits the first of them (or one
    /// request, if there are none), and those after which another question makes sense.
    ///
    /// KEYS: the time at which the rate's next request is due, the processes that share it. ARGV: name of this process,
    /// interval and tolerance of the rate, requests wanted, requests to charge, span of a lease. Times are in
    /// microseconds.
    ///
    /// The generic cell rate algorithm (see `CellRate`), with the server's clock, for several requests at once. Due times
    /// are up to half a span ahead, in whole requests, so that processes whose leases overlap do not wait for
    /// each other below the limit. Each process that has asked in the last second gets an equal part of a span
    /// at a time; if the limit is used up, the lease begins later, so that processes take turns. No lease begins later
    /// than a second, or an interval if that is longer: requests that wait may be cancelled meanwhile.
    ///
    /// If the server's clock was set back, the due time would be too late by that, and the whole fleet would wait. The
    /// set has the time of each process's last question, so one that is in the future shows it: the due time moves back
    /// by as much, and such processes are counted again with their next question. The set lives at least as long as the
    /// due time.
    static let lease = """
        local clock = redis.call('TIME')
        local now = clock[1] * 1000000 + clock[2]
        local interval, tolerance, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
        local charge, span = tonumber(ARGV[5]), tonumber(ARGV[6])
        local last = tonumber(redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] or now)
        local setBack = math.max(0, last - now)
        redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1000000)
        redis.call('ZREMRANGEBYSCORE', KEYS[2], now + 1, '+inf')
        redis.call('ZADD', KEYS[2], now, ARGV[1])
        local processes = redis.call('ZCARD', KEYS[2])

        local due = tonumber(redis.call('GET', KEYS[1]) or 0) - setBack
        due = math.max(due, now) + charge * interval
        due = math.max(due, now)
        local early = tolerance + math.floor(span / 2 / interval) * interval
        local wait = math.max(0, math.ceil(due - early - now))
        local latest = math.max(1000000, interval)
        local granted = math.min(wanted, math.max(1, math.floor(span / interval / processes)))
        local retry = 0
        if wait > latest then
            granted = 0
            retry = wait - latest
        end
        due = due + granted * interval
        local life = math.ceil((due - now) / 1000) + 1000
        redis.call('PEXPIRE', KEYS[2], math.max(2000, life))
        if due > now then
            redis.call('SET', KEYS[1], string.format('%.0f', due), 'PX', life)
        else
            redis.call('DEL', KEYS[1])
        end
        return {granted, wait, retry}
        """

    /// Publishes openings of circuits, and returns for each key the milliseconds for which the circuit is open in any
    /// process: zero if in none. Of several openings the key has the one that lasts longest.
    ///
    /// KEYS: circuits. ARGV: for each key the milliseconds of the opening to publish, zero if there is none.
    static let circuits = """
        local answer = {}
        for i, key in ipairs(KEYS) do
            local left = math.max(0, redis.call('PTTL', key))
            if tonumber(ARGV[i]) > left then
                redis.call('SET', key, '', 'PX', ARGV[i])
                left = tonumber(ARGV[i])
            end
            answer[i] = left
        end
        return answer
        """
}
