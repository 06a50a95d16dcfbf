/// Waits for a completion handler: takes its first answer, ignores later ones, and stops waiting as soon as the
/// task is cancelled.
enum CompletionBridge {
    /// `cancelled` is the answer where the task is cancelled first.
    static func answer<Answer: Sendable>(
        orIfCancelled cancelled: @autoclosure () -> Answer,
        isolation: isolated (any Actor)? = #isolation,
        _ start: (@escaping @Sendable (Answer) -> Void) -> Void
    ) async -> Answer {
        if Task.isCancelled { return cancelled() }
        let answer = OneShot<Answer>()
        start { answer.resolve($0) }
        // Most handlers answer before they return: then nothing has to be suspended.
        if let given = answer.value { return given }
        return await answer.wait() ?? cancelled()
    }

    /// As above, for handlers that answer with a result.
    static func value<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ start: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
    ) async throws -> Value {
        let answer: Result<Value, any Error> = await answer(orIfCancelled: .failure(CancellationError()), start)
        return try answer.get()
    }
}
