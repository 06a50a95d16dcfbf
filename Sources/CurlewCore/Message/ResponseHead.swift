/// Status line and header fields of a response, exactly as received.
public struct ResponseHead: Sendable, Equatable {
    public var status: Int
    /// The reason phrase; empty with HTTP/2 and later.
    public var reason: String
    public var version: HTTPVersion
    public var headers: HTTPHeaders

    public init(status: Int, reason: String = "", version: HTTPVersion = .http1_1, headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.version = version
        self.headers = headers
    }
}
