/// What has arrived.
extension TestServer {
    /// Every request that was answered or is about to be, in the order in which they were complete.
    ///
    /// A client that has its response finds its request here. The number kept and the bytes in them are
    /// bounded (`Configuration.recordLimit`, `recordByteLimit`).
    public var requests: [Request] { core.recorder.requests }

    /// What arrived of requests whose peer left before they were complete.
    public var abortedRequests: [Request] { core.recorder.aborted }

    /// How many requests were complete since the start or `clearRequests()`.
    public var requestCount: Int { core.recorder.counters.requests }

    /// How many connections have been accepted.
    public var connectionCount: Int { core.recorder.counters.connections }

    /// How many of them are open.
    public var openConnectionCount: Int { core.recorder.counters.openConnections }

    /// Bytes read from all connections.
    public var bytesReceived: Int64 { core.recorder.counters.bytesReceived }

    /// Bytes handed to the kernel for all connections.
    public var bytesSent: Int64 { core.recorder.counters.bytesSent }

    /// Forgets the requests so far.
    public func clearRequests() { core.recorder.clear() }

    /// Returns when `count` requests have been complete, with all that are kept.
    @discardableResult
    public func waitForRequests(count: Int, timeout: Duration = .seconds(30)) async throws -> [Request] {
        try await core.recorder.wait(timeout) { $0.requests >= count }
        return requests
    }

    /// Returns when `count` connections have been accepted.
    public func waitForConnections(count: Int, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.connections >= count }
    }

    /// Returns when no more than `count` connections are open.
    public func waitForOpenConnections(atMost count: Int, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.openConnections <= count }
    }

    /// Returns when that many bytes have been read from all connections.
    public func waitForBytesReceived(_ count: Int64, timeout: Duration = .seconds(30)) async throws {
        try await core.recorder.wait(timeout) { $0.bytesReceived >= count }
    }
}
