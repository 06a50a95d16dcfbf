/// Status line and header fields of a response, exactly as received.
public struct ResponseHead: Sendable, Equatable {
    /// The status.
    public var status: Int
    /// The reason phrase; empty with HTTP/2 and later.
    public var reason: String
    /// The version of the status line.
    public var version: HTTPVersion
    /// The fields in the order in which they came, repeated ones included.
    public var headers: HTTPHeaders

    /// Creates a head.
    public init(status: Int, reason: String = "", version: HTTPVersion = .http1_1, headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.version = version
        self.headers = headers
    }
}
