internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation
internal import Glibc

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

    /// Admits a question, or returns false while the breaker is open. The first question after its pause is the trial
    /// that closes it.
    func admitQuestion() -> Bool { breaker.withLock { $0.allows(at: .now) } }

    /// Whether a question would be admitted. Does not begin the trial of the breaker.
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

/// The address of a server and the credentials for it: `redis://user:password@host:port/database`.
struct RedisAddress: Sendable, Equatable {
    var host: String
    var port: Int32 = 6379
    var user: String?
    var password: String?
    var database: Int?

    /// Parses a URL. The error does not repeat the URL, which may hold a password.
    init(_ text: String) throws(RedisFault) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased() else {
            throw .unusable("the URL of the Redis server is no URL")
        }
        guard scheme != "rediss" else { throw .unusable("TLS (rediss) is not supported") }
        guard scheme == "redis" else { throw .unusable("the URL of the Redis server does not begin with redis://") }
        guard let host = parts.host, !host.isEmpty else { throw .unusable("the URL of the Redis server names no host") }
        // The host of an IPv6 URL is in brackets.
        self.host = Hostname.withoutBrackets(host)
        if let port = parts.port {
            guard (1...65535).contains(port) else { throw .unusable("the URL of the Redis server has no usable port") }
            self.port = Int32(port)
        }
        user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
        password = parts.password
        let path = parts.path.drop { $0 == "/" }
        if !path.isEmpty {
            guard let number = Int(path), number >= 0 else {
                throw .unusable("the path of the URL of the Redis server is no number of a database")
            }
            database = number
        }
    }

    /// The commands that a new connection sends first.
    var greeting: [RedisCommand] {
        var commands: [RedisCommand] = []
        if let password { commands.append(RedisCommand(["AUTH"] + (user.map { [$0] } ?? []) + [password])) }
        if let database, database != 0 { commands.append(RedisCommand(["SELECT", "\(database)"])) }
        return commands
    }
}

/// Resolves a host to its addresses on a separate queue, because `getaddrinfo` has no time limit. One lookup serves all
/// callers that ask while it runs.
final class RedisNames: Sendable {
    private struct State {
        var known: [String] = []
        /// The lookup under way. The group is left when the lookup ends.
        var lookup: DispatchGroup?
    }

    private let host: String
    private let lookUp: @Sendable (String) -> [String]
    private let state = Lock(State())
    private let queue = DispatchQueue(label: "curlew.redis.names")
    private let handoff = Handoff()

    init(_ host: String, lookUp: @escaping @Sendable (String) -> [String] = RedisNames.lookUp) {
        self.host = host
        self.lookUp = lookUp
    }

    /// Returns the known addresses. If there are none yet, waits up to `limit` for the lookup. Call it on a lane; it
    /// blocks.
    func addresses(within limit: Duration) -> [String] {
        let (known, lookup, begins) = state.withLock { state -> ([String], DispatchGroup, Bool) in
            if let lookup = state.lookup { return (state.known, lookup, false) }
            let lookup = DispatchGroup()
            guard state.known.isEmpty else { return (state.known, lookup, false) }
            lookup.enter()
            state.lookup = lookup
            return ([], lookup, true)
        }
        guard known.isEmpty else { return known }
        if begins {
            handoff(to: queue) { [self] in
                let addresses = lookUp(host)
                state.withLock { $0 = State(known: addresses) }
                lookup.leave()
            }
        }
        _ = lookup.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
        return state.withLock { $0.known }
    }

    /// Drops the addresses after no connection to them succeeded. The next call resolves the host again.
    func forget() { state.withLock { $0.known = [] } }

    @Sendable static func lookUp(_ host: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var (found, next): ([String], UnsafeMutablePointer<addrinfo>?) = ([], first)
        while let address = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let info = address.pointee
            if getnameinfo(info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 {
                found.append(
                    String(decoding: text.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self))
            }
            next = info.ai_next
        }
        return found
    }
}
