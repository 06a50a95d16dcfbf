/// How often something went wrong with a Redis cache. To its users each of these was a miss.
public struct RedisCacheFaults: Sendable, Equatable {
    /// There was no connection, or it ended.
    public var unreachable = 0
    /// The server did not answer in time.
    public var timedOut = 0
    /// What came was no answer of a Redis server.
    public var garbage = 0
    /// The server did not let this client in: a wrong password, too many clients.
    public var rejected = 0
    /// The server was not asked, because it had not answered a short while before, or the URL cannot be used.
    public var suspended = 0
    /// The server refused a command: it has no memory for the entry, or is loading its data.
    public var refused = 0
    /// Entries that did not agree with their checksums, or had lost their body, and were removed.
    public var damagedEntries = 0

    package init() {}

    mutating func count(_ fault: RedisFault) {
        switch fault {
        case .unreachable: unreachable += 1
        case .timedOut: timedOut += 1
        case .garbage: garbage += 1
        case .rejected: rejected += 1
        case .suspended, .unusable: suspended += 1
        }
    }
}
