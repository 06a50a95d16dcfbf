internal import CurlewLocks

/// What the lanes know together of their server: where it is, and whether it answers.
final class RedisServer: Sendable {
    let address: RedisAddress
    let connectTimeout: Duration
    let operationTimeout: Duration
    private let maximumAnswer: Int
    private let names: RedisNames
    private let breaker = Lock(RedisBreaker())
    let counts = Lock(RedisCacheFaults())

    init(_ address: RedisAddress, connectTimeout: Duration, operationTimeout: Duration, maximumAnswer: Int) {
        self.address = address
        self.connectTimeout = connectTimeout
        self.operationTimeout = operationTimeout
        self.maximumAnswer = maximumAnswer
        names = RedisNames(address.host)
    }

    /// Whether it is worth to ask.
    var isAvailable: Bool { breaker.withLock { $0.allows(at: .now) } }

    /// The same, without being the one question that is let through.
    var mayAnswer: Bool { breaker.withLock { $0.mayAllow(at: .now) } }

    func answered() { breaker.withLock { $0.succeeded() } }

    func failed(_ fault: RedisFault) {
        breaker.withLock { $0.failed(at: .now) }
        counts.withLock { $0.count(fault) }
    }

    /// A question has waited for too long among others of this process, which says nothing of the server.
    func wasNotAsked() {
        breaker.withLock { $0.wasNotAsked(at: .now) }
        counts.withLock { $0.count(.timedOut) }
    }

    /// A new connection that the server has let in. On a lane.
    func connect() throws(RedisFault) -> RedisConnection {
        let deadline = ContinuousClock.now.advanced(by: connectTimeout)
        var last = RedisFault.unreachable("the name of the server was not found in time")
        for host in names.addresses(within: connectTimeout) {
            do throws(RedisFault) {
                let made = try RedisConnection(
                    to: host, port: address.port, deadline: deadline, maximumAnswer: maximumAnswer)
                try greet(made)
                return made
            } catch {
                last = error
            }
        }
        names.forget()
        throw last
    }

    private func greet(_ connection: RedisConnection) throws(RedisFault) {
        let greeting = address.greeting
        guard !greeting.isEmpty else { return }
        let deadline = ContinuousClock.now.advanced(by: operationTimeout)
        for reply in try connection.exchange(greeting, deadline: deadline) {
            if case .error(let text) = reply { throw .rejected(text) }
        }
    }
}
