internal import Glibc

/// The byte transport of a connection: a plain socket or TLS. Used only on the server's thread.
protocol Wire: AnyObject {
    /// Reads available bytes into the buffer.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> WireTurn
    /// Sends as many bytes as the socket accepts.
    func send(_ bytes: UnsafeRawBufferPointer) -> WireTurn
    /// Ends the server's direction.
    func endSending()
    /// Whether ALPN has chosen HTTP/2.
    var hasAgreedOnHTTP2: Bool { get }
}

/// The result of one call.
enum WireTurn {
    /// This number of bytes was transferred, at least one.
    case moved(Int)
    /// No byte was transferred; the socket must become readable or writable first.
    case needs(Connection.Need)
    /// The peer has ended its direction, or the connection is broken.
    case ended
}

/// A socket without TLS.
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
