internal import CurlewLocks
internal import Dispatch

/// A serial queue with one connection, and the questions that wait for it. Questions that arrive while it is busy are
/// sent together (pipelining).
// SAFETY: `connection` is used on the queue only; the rest of the mutable state is protected by its lock.
final class RedisLane: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Commands that are sent together, and the handler of their replies.
    struct Question: Sendable {
        let commands: [RedisCommand]
        let deadline: Instant
        let completion: @Sendable (Result<[RedisReply], RedisFault>) -> Void
        /// The approximate number of bytes that the commands send and receive.
        let bytes: Int

        init(
            commands: [RedisCommand],
            deadline: Instant,
            completion: @escaping @Sendable (Result<[RedisReply], RedisFault>) -> Void
        ) {
            self.commands = commands
            self.deadline = deadline
            self.completion = completion
            bytes = commands.reduce(0) { $0 + $1.bytes }
        }
    }

    private struct Waiting {
        var questions: [Question] = []
        var isBusy = false
    }

    // The bounds of one exchange. Questions that are sent together share the time limit of one question and fail
    // together. `mostBytes` is what the reader of a large body asks for at once.
    static let mostCommands = 256
    static let mostBytes = RedisRecord.chunksAtOnce * RedisRecord.chunkSize

    private let server: RedisServer
    private let waiting = Lock(Waiting())
    private let queue: DispatchQueue
    private let handoff = Handoff()
    private var connection: RedisConnection?

    init(_ server: RedisServer, number: Int) {
        self.server = server
        queue = DispatchQueue(label: "curlew.redis.\(number)")
    }

    /// The number of questions that wait or are under way. All questions of one exchange count as one.
    var load: Int { waiting.withLock { $0.questions.count + ($0.isBusy ? 1 : 0) } }

    func ask(_ question: Question) {
        let isIdle = waiting.withLock { waiting -> Bool in
            waiting.questions.append(question)
            defer { waiting.isBusy = true }
            return !waiting.isBusy
        }
        if isIdle { handoff(to: queue) { [self] in work() } }
    }

    private func work() {
        while let questions = next() {
            let now = ContinuousClock.now
            var live: [Question] = []
            for question in questions {
                guard question.deadline <= now else {
                    live.append(question)
                    continue
                }
                server.wasNotAsked()
                question.completion(.failure(.timedOut))
            }
            if !live.isEmpty { answer(live) }
        }
    }

    /// Removes the questions to send together from the queue. Returns `nil` if none waits.
    private func next() -> [Question]? {
        waiting.withLock { waiting -> [Question]? in
            let count = Self.countTogether(waiting.questions)
            guard count > 0 else {
                waiting.isBusy = false
                return nil
            }
            let questions = Array(waiting.questions.prefix(count))
            waiting.questions.removeFirst(count)
            return questions
        }
    }

    /// The number of questions at the front that may be sent together: one question of any size, or several within the
    /// bounds.
    static func countTogether(_ questions: [Question]) -> Int {
        var (count, commands, bytes) = (0, 0, 0)
        for question in questions {
            commands += question.commands.count
            bytes += question.bytes
            guard count == 0 || (commands <= mostCommands && bytes <= mostBytes) else { break }
            count += 1
        }
        return count
    }

    private func answer(_ questions: [Question]) {
        do throws(RedisFault) {
            var replies = try exchange(questions.flatMap(\.commands))[...]
            server.answered()
            for question in questions {
                question.completion(.success(Array(replies.prefix(question.commands.count))))
                replies = replies.dropFirst(question.commands.count)
            }
        } catch {
            connection = nil
            server.failed(error)
            for question in questions { question.completion(.failure(error)) }
        }
    }

    /// Sends the commands. The operation timeout begins here; the time that the questions waited does not count.
    private func exchange(_ commands: [RedisCommand]) throws(RedisFault) -> [RedisReply] {
        if let connection {
            do throws(RedisFault) {
                return try connection.exchange(commands, deadline: .now.advanced(by: server.operationTimeout))
            } catch .unreachable {
                // The server restarted or closed an idle connection, so it may be reachable. The commands are sent
                // again and may therefore run twice.
                self.connection = nil
            }
        }
        let made = try server.connect()
        connection = made
        return try made.exchange(commands, deadline: .now.advanced(by: server.operationTimeout))
    }
}

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
        guard server.admitQuestion() else {
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
