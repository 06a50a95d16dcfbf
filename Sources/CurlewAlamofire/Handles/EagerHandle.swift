internal import Curlew

/// Starts the tasks of Alamofire's eager handles. This is one of the few places that start unstructured tasks.
enum EagerHandle {
    /// Attaches the response handler at once, so that the request starts even if the handle is never awaited.
    static func start<Response: Sendable>(
        cancelling request: Request?,
        _ attach: (@escaping @Sendable (Response) -> Void) -> Void
    ) -> Task<Response, Never> {
        let answer = OneShot<Response>()
        attach { answer.resolve($0) }
        return Task {
            await withTaskCancellationHandler {
                // A cancelled handle still returns the response, which is then that of the cancelled request.
                await answer.waitThroughCancellation()
            } onCancel: {
                request?.cancel()
            }
        }
    }
}
