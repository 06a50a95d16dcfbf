/// The status line and header fields of a response, exactly as received.
public struct ResponseHead: Sendable, Equatable {
    /// The status code.
    public var status: Int
    /// The reason phrase; empty with HTTP/2 and later.
    public var reason: String
    /// The version in the status line.
    public var version: HTTPVersion
    /// The fields in the order received, including repeated ones.
    public var headers: HTTPHeaders

    /// Creates a head.
    public init(status: Int, reason: String = "", version: HTTPVersion = .http1_1, headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.version = version
        self.headers = headers
    }
}
