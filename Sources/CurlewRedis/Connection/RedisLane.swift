internal import CurlewLocks
internal import Dispatch

/// A thread's worth of work: one connection, and the questions that wait for it. Those that come while it is busy are sent
/// together (pipelining).
// SAFETY: `connection` is used on the queue only, the rest is behind its lock.
final class RedisLane: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Commands that belong together, with where their replies go.
    struct Question: Sendable {
        let commands: [RedisCommand]
        let deadline: Instant
        let completion: @Sendable (Result<[RedisReply], RedisFault>) -> Void
        /// What goes over the connection, nearly.
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

    // All that is sent together has the time limit of one question, and fails together. Bytes: what one reader of a large body
    // asks for.
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

    /// How many questions wait.
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

    /// What can be sent together; nil where nothing waits.
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

    /// How many of the first questions may be sent together: one of any size, or several within the bounds.
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

    /// The server has its time from now on, whatever the questions have waited.
    private func exchange(_ commands: [RedisCommand]) throws(RedisFault) -> [RedisReply] {
        if let connection {
            do throws(RedisFault) {
                return try connection.exchange(commands, deadline: .now.advanced(by: server.operationTimeout))
            } catch .unreachable {
                // A server that was started again, or has closed what was idle, is there: the commands may be sent twice.
                self.connection = nil
            }
        }
        let made = try server.connect()
        connection = made
        return try made.exchange(commands, deadline: .now.advanced(by: server.operationTimeout))
    }
}
