/// The five timeouts of a request. `nil` turns one off.
public struct Timeouts: Sendable, Hashable {
    /// The time from the start of name resolution to an established connection, including TLS.
    public var connect: Duration?
    /// The time from the end of the request to the first byte of the response.
    public var firstByte: Duration?
    /// The maximum time between two bytes of a body, in either direction.
    public var idle: Duration?
    /// The time for the whole request, including retries and redirects.
    public var total: Duration?
    /// The maximum wait for a free connection.
    public var queue: Duration?

    /// Creates timeouts; `nil` turns one off.
    public init(
        connect: Duration? = .seconds(10),
        firstByte: Duration? = .seconds(60),
        idle: Duration? = .seconds(60),
        total: Duration? = nil,
        queue: Duration? = .seconds(60)
    ) {
        self.connect = connect
        self.firstByte = firstByte
        self.idle = idle
        self.total = total
        self.queue = queue
    }
}
