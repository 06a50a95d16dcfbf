internal import CurlewCore

/// Counts of the faults of a Redis cache. Each fault was a miss for the users of the cache.
public struct RedisCacheFaults: Sendable, Equatable {
    /// The connection failed or was closed.
    public var unreachable = 0
    /// The server did not respond in time, or an operation waited too long for a connection.
    public var timedOut = 0
    /// The bytes received were not replies of a Redis server.
    public var garbage = 0
    /// The server refused the client, for example because of a wrong password or too many clients.
    public var rejected = 0
    /// The server was not asked, because it had failed a short while before.
    public var suspended = 0
    /// The server refused a command, for example because it had no memory for the entry or was loading its data.
    public var refused = 0
    /// Entries that were removed because a checksum did not match or a part of the body was missing.
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

/// The reason that a question got no replies from the server.
enum RedisFault: Error, Equatable {
    /// The connection failed or was closed.
    case unreachable(String)
    /// The replies did not arrive in time.
    case timedOut
    /// The bytes received are not Redis replies.
    case garbage(String)
    /// The server refused the client, for example because of a wrong password or too many clients.
    case rejected(String)
    /// The server was not asked, because it failed a short while ago.
    case suspended
    /// The store was created with a URL that it cannot use.
    case unusable(String)
}

extension RedisFault {
    /// The error that `ping()` throws.
    var error: CurlewError {
        switch self {
        case .unreachable(let text): CurlewError(.connectFailed, phase: .connect, reason: "The Redis server: \(text)")
        case .timedOut:
            CurlewError(.connectTimedOut, phase: .connect, reason: "The Redis server did not answer in time")
        case .garbage(let text): CurlewError(.protocolViolation, phase: .receive, reason: "The Redis server: \(text)")
        case .rejected(let text):
            CurlewError(.authenticationFailed, phase: .connect, reason: "The Redis server: \(text)")
        case .suspended:
            CurlewError(.connectFailed, phase: .connect, reason: "The Redis server has not answered a short while ago")
        case .unusable(let text):
            CurlewError(text.contains("TLS") ? .unsupported : .invalidURL, phase: .creation, reason: text)
        }
    }
}
