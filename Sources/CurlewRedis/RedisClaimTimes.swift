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
