import Foundation
import Glibc

/// An open socket, which is closed with its last reference.
final class Socket: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Shuts the socket down, which ends blocking calls on it in other threads.
    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Returns the next bytes, or `nil` at the end of the connection.
    func read() -> Data? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Data(buffer.prefix(count)) : nil
    }

    func write(_ data: Data) -> Bool {
        var rest = data
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = Data(rest.dropFirst(count))
        }
        return true
    }
}

/// A path for a Unix socket, which is removed with its last reference.
final class SocketFile: Sendable {
    let path = FileManager.default.temporaryDirectory
        .appending(path: "r-\(UUID().uuidString)").path(percentEncoded: false)

    deinit { unlink(path) }

    /// Connects to the socket. `nil` if no server listens there, or if the path is too long for a socket.
    func connection() -> Socket? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isWhole = withUnsafeMutableBytes(of: &address.sun_path) { bytes -> Bool in
            guard path.utf8.count < bytes.count else { return false }
            bytes.copyBytes(from: path.utf8)
            return true
        }
        guard isWhole else { return nil }
        let made = Socket(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(made.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return code == 0 ? made : nil
    }
}

/// A TCP socket on loopback. The system chooses its port and reserves it while the socket is open.
final class LoopbackListener: Sendable {
    let socket: Socket
    let port: UInt16

    /// Binds the socket. Without `listens`, the port refuses every connection.
    init(listens: Bool = true) throws {
        socket = Socket(Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        let descriptor = socket.descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) | (listens ? listen(descriptor, 64) : 0) | getsockname(descriptor, $0, &size)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        if code != 0 { throw POSIXError(.EADDRINUSE) }
    }

    /// Waits for the next connection, or returns `nil` once the socket was shut down.
    func accept() -> Socket? {
        let client = Glibc.accept(socket.descriptor, nil, nil)
        return client >= 0 ? Socket(client) : nil
    }
}
