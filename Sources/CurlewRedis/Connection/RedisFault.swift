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
