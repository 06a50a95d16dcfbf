/// Why a server did not answer.
enum RedisFault: Error, Equatable {
    /// There is no connection, or it has ended.
    case unreachable(String)
    /// The answer did not come in time.
    case timedOut
    /// What came is no answer.
    case garbage(String)
    /// The server does not let this client in: a wrong password, too many clients.
    case rejected(String)
    /// The server was not asked: it has not answered a short while ago.
    case suspended
    /// The store was made with a URL that it cannot use.
    case unusable(String)
}
