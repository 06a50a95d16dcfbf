import CurlewRedis

extension RedisClaimTimes {
    /// Times with which claims and their marks outlive a test, even on a slow machine that runs many tests.
    static var minutes: RedisClaimTimes {
        var times = RedisClaimTimes()
        (times.claim, times.stored, times.useless) = (.seconds(120), .seconds(120), .seconds(120))
        return times
    }
}
