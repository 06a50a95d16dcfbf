internal import CurlewLocks

/// The connections of a store. A question is sent on the connection with the least load.
final class RedisPool: Sendable {
    private let server: RedisServer
    private let lanes: [RedisLane]

    init(_ server: RedisServer, connections: Int) {
        self.server = server
        lanes = (0..<max(1, connections)).map { RedisLane(server, number: $0) }
    }

    /// Sends commands together and waits for their replies without blocking a thread.
    func ask(
        _ commands: [RedisCommand]
    ) async -> Result<[RedisReply], RedisFault> {
        guard server.isAvailable else {
            server.counts.withLock { $0.count(.suspended) }
            return .failure(.suspended)
        }
        guard let lane = lanes.min(by: { $0.load < $1.load }) else { return .failure(.suspended) }
        let deadline = ContinuousClock.now.advanced(by: server.operationTimeout + server.connectTimeout)
        return await withCheckedContinuation { continuation in
            lane.ask(
                RedisLane.Question(commands: commands, deadline: deadline) { continuation.resume(returning: $0) })
        }
    }
}
