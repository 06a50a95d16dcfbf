internal import Curlew

/// What the handles of data and of downloads have in common: a response on its way, and whose it is.
struct PendingResponse<Response: Sendable>: Sendable {
    let request: Request
    let task: Task<Response, Never>
    let cancelsWithAwaiter: Bool

    var response: Response {
        get async {
            guard cancelsWithAwaiter else { return await task.value }
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }
}
