/// The five clocks of a request. nil switches one off.
public struct Timeouts: Sendable, Hashable {
    /// From the first resolver or socket call to an established connection, TLS included.
    public var connect: Duration?
    /// From the end of the request to the first byte of the response.
    public var firstByte: Duration?
    /// The longest time between two bytes of a body, in either direction.
    public var idle: Duration?
    /// From the start of the request to its end, retries and redirects included.
    public var total: Duration?
    /// The longest wait for a free connection.
    public var queue: Duration?

    /// Creates timeouts; nil stands for no limit.
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
