internal import CurlewCore

/// The state of response handlers: all serializers run in order, then all completions in order.
struct HandlerQueue {
    /// Serializes the result, and returns the completion to call.
    typealias Serializer = @Sendable (RunResult) -> Serialized

    struct Serialized: Sendable {
        /// The failure to serialize, which retriers are asked about.
        var error: CurlewError?
        /// Calls the completion. An error in its parameter replaces the serializer's result.
        var complete: @Sendable (CurlewError?) -> Void
    }

    private var serializers: [Serializer] = []
    private var next = 0

    var isEmpty: Bool { serializers.isEmpty }

    mutating func add(_ serializer: @escaping Serializer) { serializers.append(serializer) }

    mutating func nextSerializer() -> Serializer? {
        guard next < serializers.count else { return nil }
        defer { next += 1 }
        return serializers[next]
    }

    /// Called before another attempt: every serializer runs again.
    mutating func startOver() { next = 0 }
}
