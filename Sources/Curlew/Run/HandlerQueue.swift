internal import CurlewCore

/// What response handlers have come to: serializers in order, then all completions in order.
struct HandlerQueue {
    /// Serializes, and says what to tell its completion.
    typealias Serializer = @Sendable (RunResult) -> Serialized

    struct Serialized: Sendable {
        /// What went wrong; retriers are asked about it.
        var error: CurlewError?
        /// Calls the completion, with another error than its own if there is one.
        var complete: @Sendable (CurlewError?) -> Void
    }

    private var serializers: [Serializer] = []
    private var next = 0
    /// Whether a task works on them.
    private(set) var isRunning = false

    var isEmpty: Bool { serializers.isEmpty }

    mutating func add(_ serializer: @escaping Serializer) { serializers.append(serializer) }

    /// True for the first who asks: there is one worker, which is the one that starts a request's run.
    @discardableResult
    mutating func begin() -> Bool {
        defer { isRunning = true }
        return !isRunning
    }

    mutating func nextSerializer() -> Serializer? {
        guard next < serializers.count else { return nil }
        defer { next += 1 }
        return serializers[next]
    }

    /// Everything is serialized.
    mutating func end() { isRunning = false }

    /// Another try: every serializer runs again.
    mutating func startOver() { next = 0 }
}
