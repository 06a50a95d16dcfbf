/// A stream of values about a request. It ends with the request.
protocol RequestStream: Sendable {
    /// Whether the stream has a use for values of this type.
    func wants(_ type: any Any.Type) -> Bool
    func send(_ value: any Sendable)
    func finish()
}

/// Receives the values of one type and yields the elements made from them.
struct MappedRequestStream<Sent: Sendable, Element: Sendable>: RequestStream {
    let continuation: AsyncStream<Element>.Continuation
    let transform: @Sendable (Sent) -> Element?

    func wants(_ type: any Any.Type) -> Bool { type == Sent.self }

    func send(_ value: any Sendable) {
        if let value = value as? Sent, let element = transform(value) { continuation.yield(element) }
    }

    func finish() { continuation.finish() }
}
