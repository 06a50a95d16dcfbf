public import Curlew

/// A data request's response on its way. It runs also if it is never awaited.
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

    /// Lets the request go on.
    public func resume() { pending.request.resume() }

    /// Holds the request.
    public func suspend() { pending.request.suspend() }
}

/// A download's response on its way. It runs also if it is never awaited.
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

    /// Lets the request go on.
    public func resume() { pending.request.resume() }

    /// Holds the request.
    public func suspend() { pending.request.suspend() }
}
