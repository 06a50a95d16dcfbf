/// An event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event ID: that of this event or of an earlier one. `nil` if the stream has sent none.
    public var id: String?
    /// The type of the event.
    public var event: String
    /// The data lines, joined by `\n`.
    public var data: String
    /// The time to wait before connecting again, if this event sets it.
    public var retry: Duration?

    /// Creates an event, for tests and fakes.
    public init(id: String? = nil, event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }
}
