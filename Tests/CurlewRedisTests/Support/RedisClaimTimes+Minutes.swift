import CurlewRedis

extension RedisClaimTimes {
    /// Claims, and what they leave, last longer than a test that a slow machine runs among others.
    static var minutes: RedisClaimTimes {
        var times = RedisClaimTimes()
        (times.claim, times.stored, times.useless) = (.seconds(120), .seconds(120), .seconds(120))
        return times
    }
}
