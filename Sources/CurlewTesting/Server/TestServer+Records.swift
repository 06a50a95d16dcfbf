/// Records of the requests, connections and bytes that arrived.
extension TestServer {
    /// Every request whose response has begun or is about to, in that order. An echoed request follows once its body
    /// has ended.
    ///
    /// A client that has received its response finds its request here. The number of requests and the bytes in them are
    /// bounded (`Configuration.recordLimit`, `recordByteLimit`).
    public var requests: [Request] { core.recorder.requests }

    /// The last 1,000 requests that never became complete: the peer left, reset the stream, or sent malformed bytes.
    public var abortedRequests: [Request] { core.recorder.aborted }

    /// The number of recorded requests since the start or `clearRequests()`.
    public var requestCount: Int { core.recorder.counters.requests }

    /// The number of accepted connections.
    public var connectionCount: Int { core.recorder.counters.connections }

    /// The number of open connections.
    public var openConnectionCount: Int { core.recorder.counters.openConnections }

    /// The number of bytes read from all connections.
    public var bytesReceived: Int64 { core.recorder.counters.bytesReceived }

    /// The number of bytes handed to the kernel for all connections.
    public var bytesSent: Int64 { core.recorder.counters.bytesSent }

    /// Removes all recorded requests and resets `requestCount`.
    public func clearRequests() { core.recorder.clear() }

    /// Returns the recorded requests once `requestCount` has reached `count`.
    @discardableResult
    public func waitForRequests(count: Int, timeout: Duration = .seconds(30)) async throws -> [Request] {
        try await core.recorder.wait(timeout) { $0.requests >= count }
        return requests
    }

    /// Returns when `count` connections have been accepted.
    public func waitForConnections(count: Int, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.connections >= count }
    }

    /// Returns when at most `count` connections are open.
    public func waitForOpenConnections(atMost count: Int, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.openConnections <= count }
    }

    /// Returns when this number of bytes has been read from all connections.
    public func waitForBytesReceived(_ count: Int64, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.bytesReceived >= count }
    }
}
