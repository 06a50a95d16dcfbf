internal import CurlewCore

/// A data request's response on its way. It runs whether or not somebody waits for it.
public struct DataTask<Value: Sendable>: Sendable {
    private let request: DataRequest
    private let task: Task<AFDataResponse<Value>, Never>
    private let cancelsWithAwaiter: Bool

    init(request: DataRequest, task: Task<AFDataResponse<Value>, Never>, cancelsWithAwaiter: Bool) {
        self.request = request
        self.task = task
        self.cancelsWithAwaiter = cancelsWithAwaiter
    }

    /// The whole response.
    public var response: AFDataResponse<Value> {
        get async {
            guard cancelsWithAwaiter else { return await task.value }
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                cancel()
            }
        }
    }

    /// The value or the error.
    public var result: AFResult<Value> {
        get async { await response.result }
    }

    /// The value.
    public var value: Value {
        get async throws(CurlewError) { try await result.get() }
    }

    /// Cancels the request.
    public func cancel() { task.cancel() }

    /// Lets the request go on.
    public func resume() { request.resume() }

    /// Holds the request.
    public func suspend() { request.suspend() }
}

/// A download's response on its way. It runs whether or not somebody waits for it.
public struct DownloadTask<Value: Sendable>: Sendable {
    private let request: DownloadRequest
    private let task: Task<AFDownloadResponse<Value>, Never>
    private let cancelsWithAwaiter: Bool

    init(request: DownloadRequest, task: Task<AFDownloadResponse<Value>, Never>, cancelsWithAwaiter: Bool) {
        self.request = request
        self.task = task
        self.cancelsWithAwaiter = cancelsWithAwaiter
    }

    /// The whole response.
    public var response: AFDownloadResponse<Value> {
        get async {
            guard cancelsWithAwaiter else { return await task.value }
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                cancel()
            }
        }
    }

    /// The value or the error.
    public var result: AFResult<Value> {
        get async { await response.result }
    }

    /// The value.
    public var value: Value {
        get async throws(CurlewError) { try await result.get() }
    }

    /// Cancels the request.
    public func cancel() { task.cancel() }

    /// Lets the request go on.
    public func resume() { request.resume() }

    /// Holds the request.
    public func suspend() { request.suspend() }
}
