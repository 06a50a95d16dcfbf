internal import CurlewLocks

/// The state that all lanes share: the server's address, its availability, and the counts of faults.
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

    /// Whether a question may be sent. The answer may make the caller's question the trial of the breaker.
    var isAvailable: Bool { breaker.withLock { $0.allows(at: .now) } }

    /// Whether a question might be sent. Does not start the trial of the breaker.
    var mayAnswer: Bool { breaker.withLock { $0.mayAllow(at: .now) } }

    func answered() { breaker.withLock { $0.succeeded() } }

    func failed(_ fault: RedisFault) {
        breaker.withLock { $0.failed(at: .now) }
        counts.withLock { $0.count(fault) }
    }

    /// Records that a question waited for a connection until its deadline. This says nothing about the server.
    func wasNotAsked() {
        breaker.withLock { $0.wasNotAsked(at: .now) }
        counts.withLock { $0.count(.timedOut) }
    }

    /// Opens a connection and authenticates it. Call it on a lane; it blocks.
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
