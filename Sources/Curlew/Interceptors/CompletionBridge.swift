internal import CurlewLocks

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
        let wait = BridgedAnswer<Answer>()
        start { wait.settle($0) }
        // Most handlers answer before they return: then nothing has to be suspended.
        if let settled = wait.settled { return settled ?? cancelled() }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { wait.attach($0) }
        } onCancel: {
            wait.settle(nil)
        }
        return answer ?? cancelled()
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

/// One answer on its way from a handler to a task.
private final class BridgedAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case waiting
        case attached(CheckedContinuation<Answer?, Never>)
        case settled(Answer?)
        case delivered
    }

    private let state = Lock(State.waiting)

    /// The answer, if there is one already; the inner nil stands for a cancellation.
    var settled: Answer?? {
        state.withLock { state in
            guard case .settled(let answer) = state else { return nil }
            state = .delivered
            return .some(answer)
        }
    }

    func attach(_ continuation: CheckedContinuation<Answer?, Never>) {
        let early: Answer?? = state.withLock { state in
            switch state {
            case .settled(let answer):
                state = .delivered
                return .some(answer)
            case .waiting, .attached, .delivered:
                state = .attached(continuation)
                return nil
            }
        }
        if let early { continuation.resume(returning: early) }
    }

    func settle(_ answer: Answer?) {
        let continuation: CheckedContinuation<Answer?, Never>? = state.withLock { state in
            switch state {
            case .waiting:
                state = .settled(answer)
                return nil
            case .attached(let continuation):
                state = .delivered
                return continuation
            case .settled, .delivered: return nil
            }
        }
        continuation?.resume(returning: answer)
    }
}
