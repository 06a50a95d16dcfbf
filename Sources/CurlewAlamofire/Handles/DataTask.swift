public import Curlew

/// The response of a data request, which may not have arrived yet. The request runs even if the response is never
/// awaited.
public struct DataTask<Value: Sendable>: Sendable {
    let pending: PendingResponse<AFDataResponse<Value>>

    /// The whole response.
    public var response: AFDataResponse<Value> {
        get async { await pending.response }
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
    public func cancel() { pending.task.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { pending.request.resume() }

    /// Suspends the request.
    public func suspend() { pending.request.suspend() }
}

/// The response of a download, which may not have arrived yet. The request runs even if the response is never awaited.
public struct DownloadTask<Value: Sendable>: Sendable {
    let pending: PendingResponse<AFDownloadResponse<Value>>

    /// The whole response.
    public var response: AFDownloadResponse<Value> {
        get async { await pending.response }
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
    public func cancel() { pending.task.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { pending.request.resume() }

    /// Suspends the request.
    public func suspend() { pending.request.suspend() }
}
