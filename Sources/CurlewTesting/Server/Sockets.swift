internal import Glibc

/// The POSIX calls that the server and ``DeadEnd`` need, on non-blocking IPv4 loopback sockets.
enum Sockets {
    static func listen(
        on port: Int = 0,
        backlog: Int32,
        sendBuffer: Int? = nil,
        receiveBuffer: Int? = nil
    ) throws(SystemError) -> (descriptor: Int32, port: Int) {
        let descriptor = try stream()
        do throws(SystemError) {
            setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            // Accepted sockets inherit both. Setting them after `accept` is too late: the window is negotiated before.
            if let sendBuffer { setOption(descriptor, SOL_SOCKET, SO_SNDBUF, Int32(sendBuffer)) }
            if let receiveBuffer { setOption(descriptor, SOL_SOCKET, SO_RCVBUF, Int32(receiveBuffer)) }
            try bind(descriptor, to: port)
            guard Glibc.listen(descriptor, backlog) == 0 else { throw SystemError("listen") }
            return (descriptor, try localPort(descriptor))
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
    }

    static func stream() throws(SystemError) -> Int32 {
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(AF_INET, Int32(kind), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        return descriptor
    }

    static func bind(_ descriptor: Int32, to port: Int) throws(SystemError) {
        guard withLoopback(port, { Glibc.bind(descriptor, $0, $1) }) == 0 else { throw SystemError("bind") }
    }

    /// Starts to connect; returns 0 on immediate success, otherwise `errno` (usually `EINPROGRESS`).
    static func connect(_ descriptor: Int32, to port: Int) -> Int32 {
        withLoopback(port) { Glibc.connect(descriptor, $0, $1) } == 0 ? 0 : errno
    }

    static func localPort(_ descriptor: Int32) throws(SystemError) -> Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard code == 0 else { throw SystemError("getsockname") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Returns the next connection and its peer's port; `nil` if none is pending. Throws if descriptors have run out.
    static func accept(_ listener: Int32) throws(SystemError) -> (descriptor: Int32, peerPort: Int)? {
        while true {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.accept(listener, $0, &length) }
            }
            if descriptor >= 0 {
                makePrivate(descriptor)
                // With Nagle's algorithm, the segments of a script would be merged.
                setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
                return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
            }
            switch errno {
            case EAGAIN: return nil
            case EINTR, ECONNABORTED: continue
            default: throw SystemError("accept")
            }
        }
    }

    /// Makes a descriptor non-blocking and close-on-exec. Glibc's module has neither `accept4` nor `pipe2`.
    static func makePrivate(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Closes a socket with RST instead of FIN.
    static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        _ = Glibc.close(descriptor)
    }

    static func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func withLoopback<R>(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}

/// A failed system call and its errno.
public struct SystemError: Error, Hashable, CustomStringConvertible {
    /// The name of the call.
    public let call: String
    /// The `errno` of the call.
    public let number: Int32

    init(_ call: String) {
        self.call = call
        number = errno
    }

    public var description: String { "\(call): \(String(cString: strerror(number)))" }
}
