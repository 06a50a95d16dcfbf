import Glibc

/// Blocking calls on sockets. A call that a signal has interrupted is made again, and a write continues until all bytes
/// are sent.
enum BlockingSocket {
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
