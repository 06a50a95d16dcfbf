/// How long a claim stays in the server, and what its end puts in its place.
package struct RedisClaimTimes: Sendable {
    /// A process that has ended without a word keeps the others waiting for so long. A request waits for at most twice
    /// as long, whatever number of processes takes over.
    package var claim = Duration.seconds(10)
    /// That there is an entry: for processes that looked before there was.
    package var stored = Duration.seconds(1)
    /// That the response cannot be shared: waiters and those that ask meanwhile send their own requests.
    package var useless = Duration.seconds(3)

    package init() {}
}
