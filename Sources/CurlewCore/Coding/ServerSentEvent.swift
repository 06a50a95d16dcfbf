/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event id: the one of this event, or of an earlier one. nil where there is none.
    public var id: String?
    /// The event's type.
    public var event: String
    /// Its data lines, joined by `\n`.
    public var data: String
    /// How long to wait before connecting again, where this event says so.
    public var retry: Duration?

    /// Creates an event, for tests and fakes.
    public init(id: String? = nil, event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }
}
