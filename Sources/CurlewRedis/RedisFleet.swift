public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A Redis server through which the processes of a fleet share rate limits and circuits.
///
///     let fleet = RedisFleet(url: "redis://:password@limits.internal", localShare: 1 / 8)
///     configuration.resilience.rateLimit = RateLimit.requests(1_000, per: .seconds(1)).shared(by: fleet)
///     configuration.resilience.breaker = CircuitBreaker().shared(by: fleet)
///
/// Each process leases requests in batches, for about a tenth of a second, and orders the next batch before one is used
/// up: requests rarely wait for Redis. While Redis does not answer, each process sends at `localShare` of the limit, so
/// that a failing server neither stops the fleet nor lifts the limit.
///
/// A process whose circuit opens publishes that for as long as the circuit is open. The others learn of it within
/// `circuitRefresh`, and then open theirs after fewer failures. Without Redis, each process relies on what it has seen
/// itself.
///
/// Limits with the same numbers and the same names of their scope are one, whichever session or program asks; circuits
/// with the same name are one. All processes need to use the same prefix. Redis's clock alone counts. Connections are not
/// encrypted: `rediss` is `unsupported`.
public final class RedisFleet: Sendable {
    /// Numbers since the object was created.
    public struct Statistics: Sendable, Hashable {
        /// The commands that were sent to the server.
        public internal(set) var operations = 0
        /// The commands without an answer, and those that were not sent because the server has not answered before.
        public internal(set) var failures = 0
        /// The leases.
        public internal(set) var leases = 0
        /// The requests that were leased.
        public internal(set) var granted = 0
        /// The requests that were sent without a lease, at the local share. Updated with the next command.
        public internal(set) var local = 0
        /// The openings of circuits that were published.
        public internal(set) var openings = 0
    }

    package let localShare: Double
    package let circuitRefresh: Duration
    private let pool: RedisPool?
    private let problem: RedisFault?
    private let prefix: String
    /// The name of this process, by which the script counts the processes.
    private let identity = RedisRecord.bytes(UInt64.random(in: 0...UInt64.max), count: 8)
    private let counts = Lock(Statistics())

    /// Creates a fleet. It connects to the server at its first use.
    ///
    /// - Parameters:
    ///   - url: `redis://user:password@host:port/database`; only the host is required. With a URL that cannot be used
    ///     the local share applies, and `ping()` reports why.
    ///   - prefix: The prefix of the names of all keys.
    ///   - localShare: The share of the limits, above 0, at most 1, at which this process sends while the server does not
    ///     answer. Use 1 divided by the number of processes, so that all of them together keep the limits.
    ///   - circuitRefresh: The time between two questions about circuits in use, at least 10 ms. There are up to 128
    ///     circuits in a question, and more questions at once if there are more circuits. Openings are published at once.
    ///   - connectTimeout: The time limit for a new connection.
    ///   - operationTimeout: The time limit for the response to one command.
    public init(
        url: String,
        prefix: String = "curlew:",
        localShare: Double = 0.1,
        circuitRefresh: Duration = .seconds(1),
        connectTimeout: Duration = .milliseconds(20),
        operationTimeout: Duration = .milliseconds(50)
    ) {
        self.prefix = prefix
        self.localShare = localShare
        self.circuitRefresh = max(circuitRefresh, .milliseconds(10))
        do throws(RedisFault) {
            let server = RedisServer(
                try RedisAddress(url), connectTimeout: connectTimeout, operationTimeout: operationTimeout,
                maximumAnswer: 1 << 20)
            pool = RedisPool(server, connections: 1)
            problem = nil
        } catch {
            (pool, problem) = (nil, error)
        }
    }

    /// The numbers of this moment.
    public var statistics: Statistics { counts.withLock { $0 } }

    /// Checks that the server responds.
    /// - Throws: `invalidURL` or `unsupported` for the URL, `connectFailed`, `connectTimedOut`, `authenticationFailed`
    ///   or `protocolViolation`.
    public func ping() async throws(CurlewError) {
        switch await ask(RedisCommand("PING")) {
        case .success(let reply):
            if case .error(let text)? = reply { throw RedisFault.rejected(text).error }
        case .failure(let fault): throw fault.error
        }
    }

    func ask(_ command: RedisCommand) async -> Result<RedisReply?, RedisFault> {
        guard let pool else { return .failure(problem ?? .suspended) }
        return await pool.ask([command]).map(\.first)
    }

    /// The keys of a rate: its time, and its processes. Names of scopes may be long or secret, so they are hashed.
    func keys(of order: RateLeaseOrder) -> [String] {
        let rate = RedisKeys.digest("\(Self.microseconds(order.rate.interval)) \(order.rate.tolerance) \(order.name)")
        return ["\(prefix)r:\(rate)", "\(prefix)p:\(rate)"]
    }

    /// Adds a command to the statistics, and applies `change` to them.
    private func count(
        _ answer: Result<RedisReply?, RedisFault>, isFailure: Bool, _ change: (inout Statistics) -> Void
    ) {
        var wasSent = pool != nil
        if case .failure(.suspended) = answer { wasSent = false }
        counts.withLock { counts in
            counts.operations += wasSent ? 1 : 0
            counts.failures += isFailure ? 1 : 0
            change(&counts)
        }
    }

    private static func microseconds(_ duration: Duration) -> String { "\(duration / .microseconds(1))" }
}

extension RedisFleet: RateLeasing {
    package func lease(_ order: RateLeaseOrder) async -> RateLease? {
        let numbers = [
            Self.microseconds(order.rate.interval), Self.microseconds(order.rate.tolerance), "\(order.wanted)",
            "\(order.charge)", Self.microseconds(LeasedRate.span),
        ]
        let command = RedisCommand(
            script: RedisScripts.lease, keys: keys(of: order), [identity] + numbers.map { Data($0.utf8) })
        let answer = await ask(command)
        var lease: RateLease?
        if case .success(let reply?) = answer, let numbers = reply.elements?.compactMap(\.number), numbers.count == 3 {
            let granted = min(max(0, Int(clamping: numbers[0])), order.wanted)
            lease = RateLease(
                granted: granted, wait: .microseconds(numbers[1]), retry: .microseconds(numbers[2]))
        }
        count(answer, isFailure: lease == nil) { counts in
            counts.leases += (lease?.granted ?? 0) > 0 ? 1 : 0
            counts.granted += lease?.granted ?? 0
            counts.local += order.sentLocally
        }
        return lease
    }
}

extension RedisFleet: CircuitSharing {
    package func ask(_ question: [CircuitQuestion]) async -> [Duration]? {
        let keys = question.map { "\(prefix)c:\(RedisKeys.digest($0.name))" }
        let times = question.map { circuit in
            // Redis accepts no time of less than a millisecond.
            circuit.remaining > .zero ? max(1, Int(circuit.remaining / .milliseconds(1))) : 0
        }
        let command = RedisCommand(script: RedisScripts.circuits, keys: keys, times.map { Data("\($0)".utf8) })
        let answer = await ask(command)
        var remaining: [Duration]?
        if case .success(let reply?) = answer, let elements = reply.elements, elements.count == question.count {
            let numbers = elements.compactMap(\.number)
            // An element that is no number makes the whole reply invalid.
            if numbers.count == elements.count { remaining = numbers.map { .milliseconds($0) } }
        }
        count(answer, isFailure: remaining == nil) { counts in
            if remaining != nil { counts.openings += times.count { $0 > 0 } }
        }
        return remaining
    }
}

extension RateLimit {
    /// Returns this limit, shared with the other processes that use the same Redis server.
    ///
    /// The sum of all processes is that of the limit. After a time without requests the fleet may send up to a third of a
    /// second's requests more at once, because leases run ahead, and each process one request before its first answer,
    /// which then counts.
    public func shared(by fleet: RedisFleet) -> RateLimit { shared(byFleet: fleet) }
}

extension CircuitBreaker {
    /// Returns this breaker, whose circuits are shared with the other processes that use the same Redis server.
    ///
    /// While a circuit is open in one process, those of the others open without `minimumCalls`: with the first failure, or
    /// slow response, at which the failure rate or slow rate of their own outcomes is reached. So a process with few
    /// calls, or one that has just started, soon stops as well. This applies for the rest of the other circuit's time, at
    /// most for the process's own `openFor` after it was last told.
    ///
    /// An opening elsewhere alone never opens a circuit: one process that cannot reach the server must not stop a whole
    /// fleet that can. Each process opens for its own `openFor`, and sends its own probes.
    public func shared(by fleet: RedisFleet) -> CircuitBreaker { shared(byFleet: fleet) }
}

/// The name for code that shares rates alone.
public typealias RedisRateLimit = RedisFleet
