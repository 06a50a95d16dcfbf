/// What the server does as one step. A hash and the set of its URL live as long as the entry in them that lives longest.
enum RedisScripts {
    private static let live = """
        local function live(key, ms)
            if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
        end

        """

    /// KEYS: hash, set, chunks. ARGV: field, record, milliseconds. 0 where a chunk is not there any more.
    static let commit =
        live + """
            for i = 3, #KEYS do
                if redis.call('PEXPIRE', KEYS[i], ARGV[3]) == 0 then return 0 end
            end
            redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
            redis.call('SADD', KEYS[2], KEYS[1])
            live(KEYS[1], tonumber(ARGV[3]))
            live(KEYS[2], tonumber(ARGV[3]))
            return 1
            """

    /// KEYS: hash, set, chunks. ARGV: field, record, milliseconds, the record that is to be replaced.
    static let update =
        live + """
            if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[4] then return 0 end
            for i = 3, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
            redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
            live(KEYS[1], tonumber(ARGV[3]))
            live(KEYS[2], tonumber(ARGV[3]))
            return 1
            """

    /// KEYS: hash, chunks. ARGV: field, the record that is to be removed.
    static let remove = """
        if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
        redis.call('HDEL', KEYS[1], ARGV[1])
        for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
        return 1
        """

    /// KEYS: set.
    static let removeURL = """
        for _, key in ipairs(redis.call('SMEMBERS', KEYS[1])) do redis.call('DEL', key) end
        return redis.call('DEL', KEYS[1])
        """

    /// KEYS: claim. ARGV: the claim's token, what stands there afterwards, milliseconds.
    static let endClaim = """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
        return 1
        """
}
