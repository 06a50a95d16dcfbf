internal import CurlewLocks
internal import Dispatch
internal import Foundation
internal import Glibc

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
