internal import CurlewLocks
internal import Dispatch
internal import Foundation
internal import Glibc

/// Looks up the addresses of a host on a queue of its own, because the system's lookup has no time limit. One lookup serves all who
/// ask meanwhile.
final class RedisNames: Sendable {
    private struct State {
        var known: [String] = []
        /// Left when the lookup ends that is under way.
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

    /// The addresses that are known, after waiting for so long for the first ones. On a lane.
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

    /// The addresses are of no use: the name is looked up again.
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
