import Foundation
import Glibc

/// A listening socket that accepts no connection: its queue is full before the test begins.
final class DeafListener {
    let port: Int
    private let listener: Int32
    private var fillers: [Int32] = []

    struct Failure: Error {}

    /// Listens on the given port of the IPv6 loopback address. Throws if the machine has no IPv6.
    init(ipv6Port port: Int) throws {
        self.port = port
        listener = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        var only: Int32 = 1
        setsockopt(listener, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        address.sin6_port = in_port_t(port).bigEndian
        try fill(&address, AF_INET6)
    }

    /// Listens on an IPv4 loopback address. With port 0 the system chooses a free port.
    init(address text: String = "127.0.0.1", port wanted: Int = 0) throws {
        var address: sockaddr_in
        (listener, address) = try BlockingSocket.listen(at: text, port: wanted, backlog: 0)
        port = Int(UInt16(bigEndian: address.sin_port))
        connectFillers(&address, AF_INET)
    }

    private func fill(_ address: inout sockaddr_in6, _ family: Int32) throws {
        let (listener, length) = (listener, socklen_t(MemoryLayout<sockaddr_in6>.size))
        let isListening = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 0) == 0
            }
        }
        guard isListening else {
            _ = Glibc.close(listener)
            throw Failure()
        }
        connectFillers(&address, family)
    }

    /// Fills the queue with connections that are never accepted.
    private func connectFillers<Address>(_ address: inout Address, _ family: Int32) {
        let length = socklen_t(MemoryLayout<Address>.size)
        for _ in 0..<4 {
            let filler = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(filler, $0, length) }
            }
            fillers.append(filler)
        }
    }

    func close() {
        for fd in fillers + [listener] { _ = Glibc.close(fd) }
    }
}
