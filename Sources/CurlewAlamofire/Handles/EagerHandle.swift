internal import Curlew
internal import CurlewLocks

/// Starts the tasks of Alamofire's eager handles. This is one of the few places that start unstructured tasks.
enum EagerHandle {
    /// Attaches the response handler at once, so that the request starts even if the handle is never awaited.
    static func start<Response: Sendable>(
        cancelling request: Request?,
        _ attach: (@escaping @Sendable (Response) -> Void) -> Void
    ) -> Task<Response, Never> {
        let answer = Answer<Response>()
        attach { answer.give($0) }
        return Task {
            await withTaskCancellationHandler {
                await answer.value()
            } onCancel: {
                request?.cancel()
            }
        }
    }

    /// Passes a response from its handler to the one task that waits for it. A `OneShot` would not do: its wait ends
    /// when the task is cancelled, but a cancelled handle must still return the response.
    private final class Answer<Response: Sendable>: Sendable {
        private enum State {
            case none
            case awaited(CheckedContinuation<Response, Never>)
            case given(Response)
        }

        private let state = Lock<State>(.none)

        func give(_ response: Response) {
            let waiter = state.withLock { state -> CheckedContinuation<Response, Never>? in
                defer { state = .given(response) }
                guard case .awaited(let waiter) = state else { return nil }
                return waiter
            }
            waiter?.resume(returning: response)
        }

        func value() async -> Response {
            await withCheckedContinuation { continuation in
                let response = state.withLock { state -> Response? in
                    if case .given(let response) = state { return response }
                    state = .awaited(continuation)
                    return nil
                }
                if let response { continuation.resume(returning: response) }
            }
        }
    }
}
