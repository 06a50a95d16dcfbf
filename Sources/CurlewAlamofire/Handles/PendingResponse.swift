internal import Curlew

/// The common part of `DataTask` and `DownloadTask`: a response that may not have arrived yet, and its request.
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
