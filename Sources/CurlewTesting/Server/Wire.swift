internal import Glibc

/// How the bytes of a connection reach its socket: as they are, or under TLS. Lives on the server's thread alone.
protocol Wire: AnyObject {
    /// Takes what has come; never more than the buffer holds.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> WireTurn
    /// Sends as much as the socket takes.
    func send(_ bytes: UnsafeRawBufferPointer) -> WireTurn
    /// Says that nothing more will be sent.
    func endSending()
    /// Whether a handshake has agreed on HTTP/2.
    var hasAgreedOnHTTP2: Bool { get }
}

/// What one call brought about.
enum WireTurn {
    /// So many bytes, at least one.
    case moved(Int)
    /// Nothing until the socket can be read or written.
    case needs(Connection.Need)
    /// The peer has ended its direction, or the connection is broken.
    case ended
}

/// A socket as it is.
final class PlainWire: Wire {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> WireTurn {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN ? .needs(.readable) : .ended }
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> WireTurn {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .moved(count) }
            if errno != EINTR { return errno == EAGAIN ? .needs(.writable) : .ended }
        }
    }

    func endSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    var hasAgreedOnHTTP2: Bool { false }
}
