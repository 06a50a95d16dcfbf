internal import CurlewLocks
internal import Dispatch
internal import Foundation
internal import Glibc

/// Looks up the addresses of a host on a queue of its own, because the system's lookup has no time limit.
final class RedisNames: Sendable {
    private let host: String
    private let known = Lock<[String]>([])
    private let isLooking = Lock(false)
    private let queue = DispatchQueue(label: "curlew.redis.names")
    private let handoff = Handoff()

    init(_ host: String) { self.host = host }

    /// The addresses that are known, after waiting for so long for the first ones. On a lane.
    func addresses(within limit: Duration) -> [String] {
        let found = known.withLock { $0 }
        guard found.isEmpty else { return found }
        let isFirst = isLooking.withLock { isLooking -> Bool in
            defer { isLooking = true }
            return !isLooking
        }
        guard isFirst else { return [] }
        let done = DispatchSemaphore(value: 0)
        handoff(to: queue) { [self] in
            let addresses = Self.lookUp(host)
            known.withLock { $0 = addresses }
            isLooking.withLock { $0 = false }
            done.signal()
        }
        _ = done.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
        return known.withLock { $0 }
    }

    /// The addresses are of no use: the name is looked up again.
    func forget() { known.withLock { $0 = [] } }

    private static func lookUp(_ host: String) -> [String] {
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
