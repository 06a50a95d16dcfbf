import CNetlink
import CurlewLocks
import Foundation
import Glibc

/// A server in a separate network namespace, whose machine can vanish: from then on it sends nothing, not even a reset.
/// It reads everything that it receives. For `/whole` it sends an empty response, and waits for the next request.
/// Otherwise it sends an informational response once, after the head and for `/upload` after the first bytes of a body.
/// For `/stream`, the beginning of a response that does not end follows. Both acknowledge the request.
///
/// With `relayingTo` it passes all bytes on to a server of this machine, and those of that server back.
final class VanishingPeer: Sendable {
    private struct State {
        var descriptors: [Int32] = []
        /// The number of connections from which `serve` has received bytes.
        var heard = 0
        var isOver = false
    }

    struct Failure: Error {
        let text: String
        let code = errno
    }

    private let namespace: Namespace
    private let link: String
    let address: String
    let port: Int
    private let state = Lock(State())
    private let threads = DispatchGroup()

    init(relayingTo server: Int? = nil) throws {
        namespace = try Namespace()
        // A subnet of the network for measurements (RFC 2544), which nothing else routes.
        let number = Int.random(in: 0..<(1 << 15))
        let prefix = "198.\(18 + number >> 14).\(number >> 6 & 255)"
        let last = (number & 63) * 4
        link = "curlew\(number)"
        address = "\(prefix).\(last + 2)"
        let listener: Int32
        do {
            try Namespace.run(
                ["link", "add", link, "type", "veth", "peer", "name", "v0", "netns", namespace.name])
            try Namespace.run(["addr", "add", "\(prefix).\(last + 1)/30", "dev", link])
            try Namespace.run(["link", "set", link, "up"])
            try namespace.ip("addr", "add", "\(address)/30", "dev", "v0")
            try namespace.ip("link", "set", "v0", "up")
            (listener, port) = try Self.listen(at: address, in: namespace.path)
        } catch {
            Self.remove(link, namespace)
            throw error
        }
        state.withLock { $0.descriptors.append(listener) }
        detach { [self] in
            while case let connection = accept(listener, nil, nil), connection >= 0, keep(connection) {
                detach { [self] in
                    if let server { relay(connection, to: server) } else { serve(connection) }
                }
            }
        }
    }

    func url(_ path: String) -> String { "http://\(address):\(port)\(path)" }

    /// Removes the machine's address.
    func vanish() throws { try namespace.ip("addr", "flush", "dev", "v0") }

    /// Restores the machine's address. Its connections were not closed meanwhile.
    func comeBack() throws { try namespace.ip("addr", "add", "\(address)/30", "dev", "v0") }

    /// Drops what the machine sends over the connections that are open now, as a NAT does that has forgotten them.
    /// Later connections work.
    func forgetConnections() throws {
        for port in connectedPorts {
            try namespace.ip("rule", "add", "blackhole", "ipproto", "tcp", "dport", "\(port)")
        }
    }

    /// The number of this process's sockets that are connected to the server. The system disconnects a socket whose
    /// peer does not respond to its probes.
    var connectedSockets: Int { connectedPorts.count }

    /// The number of connections from which the server has received bytes.
    var heardConnections: Int { state.withLock { $0.heard } }

    /// Whether the server has acknowledged everything that this process has sent. Only then does the system send probes.
    var hasAcknowledgedAll: Bool {
        connectedDescriptors.allSatisfy { descriptor in
            var info = tcp_info()
            var length = socklen_t(MemoryLayout<tcp_info>.size)
            return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 && info.tcpi_unacked == 0
        }
    }

    /// The ports of this process's sockets that are connected to the server.
    private var connectedPorts: [Int] {
        connectedDescriptors.compactMap { descriptor in
            Self.name(of: descriptor, getsockname).map { Int(UInt16(bigEndian: $0.sin_port)) }
        }
    }

    private var connectedDescriptors: [Int32] {
        (0..<4096 as Range<Int32>).filter { descriptor in
            guard let peer = Self.name(of: descriptor, getpeername) else { return false }
            return peer.sin_addr.s_addr == inet_addr(address) && Int(UInt16(bigEndian: peer.sin_port)) == port
        }
    }

    private static func name(
        of descriptor: Int32, _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> sockaddr_in? {
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(descriptor, $0, &length) }
        }
        return code == 0 && name.sin_family == sa_family_t(AF_INET) ? name : nil
    }

    func remove() {
        let descriptors = state.withLock { state in
            state.isOver = true
            return exchange(&state.descriptors, with: [])
        }
        // Ends the threads' calls. The descriptors are closed only after the threads have ended, so that no call uses a
        // new socket with the same number.
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        threads.wait()
        for descriptor in descriptors { close(descriptor) }
        Self.remove(link, namespace)
    }

    private static func remove(_ link: String, _ namespace: Namespace) {
        try? Namespace.run(["link", "del", link])
        namespace.remove()
    }

    private func detach(_ body: @escaping @Sendable () -> Void) {
        threads.enter()
        Thread.detachNewThread { [threads] in
            body()
            threads.leave()
        }
    }

    /// Returns false, and closes the connection, if the server was removed.
    private func keep(_ connection: Int32) -> Bool {
        let isKept = state.withLock { state in
            if !state.isOver { state.descriptors.append(connection) }
            return !state.isOver
        }
        if !isKept { close(connection) }
        return isKept
    }

    /// Passes bytes on in both directions until either end closes. This thread belongs to the host's network, and so
    /// does the socket that it opens.
    private func relay(_ connection: Int32, to server: Int) {
        let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard upstream >= 0, keep(upstream) else { return }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = inet_addr("127.0.0.1")
        name.sin_port = in_port_t(server).bigEndian
        let isConnected = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected {
            detach { Self.pass(from: upstream, to: connection) }
            Self.pass(from: connection, to: upstream)
        } else {
            shutdown(connection, Int32(SHUT_RDWR))
        }
    }

    private static func pass(from one: Int32, to other: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = recv(one, &buffer, buffer.count, 0), count > 0 {
            guard send(other, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        for end in [one, other] { shutdown(end, Int32(SHUT_RDWR)) }
    }

    private func serve(_ connection: Int32) {
        var head = Data()
        var (isAnswered, isHeard) = (false, false)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = recv(connection, &buffer, buffer.count, 0), count > 0 {
            if !isHeard { state.withLock { $0.heard += 1 } }
            isHeard = true
            if isAnswered { continue }
            head.append(contentsOf: buffer.prefix(count))
            guard let end = head.firstRange(of: Data("\r\n\r\n".utf8))?.upperBound else { continue }
            if end == head.endIndex, head.firstRange(of: Data(" /upload ".utf8)) != nil { continue }
            var response = "HTTP/1.1 103 Early Hints\r\n\r\n"
            isAnswered = head.firstRange(of: Data(" /whole ".utf8)) == nil
            if !isAnswered {
                response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                head.removeAll()
            } else if head.firstRange(of: Data(" /stream ".utf8)) != nil {
                response += "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
            }
            let bytes = Array(response.utf8)
            guard send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
        }
    }

    /// Opens the listener on a thread that enters the namespace and ends: a socket belongs to the namespace in which it
    /// was opened.
    private static func listen(at address: String, in path: String) throws -> (descriptor: Int32, port: Int) {
        let result = Lock<Result<(descriptor: Int32, port: Int), Failure>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let opened = Result { () throws(Failure) in try listener(at: address, in: path) }
            result.withLock { $0 = opened }
            done.signal()
        }
        done.wait()
        guard let opened = result.withLock({ $0 }) else { throw Failure(text: "no thread") }
        return try opened.get()
    }

    private static func listener(at address: String, in path: String) throws(Failure) -> (
        descriptor: Int32, port: Int
    ) {
        let namespace = open(path, O_RDONLY | O_CLOEXEC)
        guard namespace >= 0 else { throw Failure(text: "open") }
        defer { close(namespace) }
        guard setns(namespace, Int32(curlew_network_namespace)) == 0 else { throw Failure(text: "setns") }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(text: "socket") }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = inet_addr(address)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 16) == 0
                    ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard code == 0 else {
            defer { close(descriptor) }
            throw Failure(text: "listen")
        }
        return (descriptor, Int(UInt16(bigEndian: name.sin_port)))
    }
}
