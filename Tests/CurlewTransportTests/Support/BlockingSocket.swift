import Glibc

/// Blocking calls on TCP sockets. A call that a signal has interrupted is made again, and a write continues until all
/// bytes are sent.
enum BlockingSocket {
    struct Failure: Error {
        let code = errno
    }

    /// Listens on an IPv4 loopback address. With port 0 the system chooses a free port. `buffer` limits the receive
    /// buffer that the system gives each connection.
    static func listen(
        at text: String = "127.0.0.1", port: Int = 0, backlog: Int32, buffer: Int32? = nil
    ) throws -> (listener: Int32, address: sockaddr_in) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var buffer {
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(text)
        address.sin_port = in_port_t(port).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard bind(listener, pointer, length) == 0, Glibc.listen(listener, backlog) == 0 else {
                    return Int32(-1)
                }
                return getsockname(listener, pointer, &length)
            }
        }
        guard code == 0 else {
            defer { close(listener) }
            throw Failure()
        }
        return (listener, address)
    }

    static func accept(_ listener: Int32) -> Int32 {
        while true {
            let peer = Glibc.accept(listener, nil, nil)
            if peer >= 0 || errno != EINTR { return peer }
        }
    }

    /// Returns the next bytes; none at the end, or if the connection has failed.
    static func read(_ socket: Int32, _ maximum: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: maximum) { buffer, count in
            var got = recv(socket, buffer.baseAddress, maximum, 0)
            while got < 0, errno == EINTR { got = recv(socket, buffer.baseAddress, maximum, 0) }
            count = max(0, got)
        }
    }

    /// Returns false if the connection has failed.
    static func write(_ socket: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(socket, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
