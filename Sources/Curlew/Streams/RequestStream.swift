/// A stream of something about a request, that ends with the request.
protocol RequestStream: Sendable {
    /// Whether values of this type are of use.
    func wants(_ type: any Any.Type) -> Bool
    func send(_ value: any Sendable)
    func finish()
}

/// Takes the values of one type, and makes its elements from them.
struct MappedRequestStream<Sent: Sendable, Element: Sendable>: RequestStream {
    let continuation: AsyncStream<Element>.Continuation
    let transform: @Sendable (Sent) -> Element?

    func wants(_ type: any Any.Type) -> Bool { type == Sent.self }

    func send(_ value: any Sendable) {
        if let value = value as? Sent, let element = transform(value) { continuation.yield(element) }
    }

    func finish() { continuation.finish() }
}
