import CurlewLocks
import Foundation
import Glibc

/// A TCP server that runs a closure for each connection, on a separate thread.
final class ByteServer: Sendable {
    /// The server's end of a connection. Closed when the closure returns.
    struct Peer: Sendable {
        let socket: Int32

        /// Returns the next bytes; none at the end, or if the connection has failed.
        func read(_ maximum: Int = 65536) -> [UInt8] {
            BlockingSocket.read(socket, maximum)
        }

        /// Returns `count` bytes, or fewer if the connection ends.
        func read(exactly count: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            while bytes.count < count {
                let more = read(count - bytes.count)
                if more.isEmpty { break }
                bytes += more
            }
            return bytes
        }

        /// Reads up to the next empty line, inclusive.
        func readHead() -> String {
            var head = ""
            while !head.hasSuffix("\r\n\r\n") {
                let next = read(1)
                if next.isEmpty { break }
                head += String(decoding: next, as: UTF8.self)
            }
            return head
        }

        @discardableResult
        func write(_ bytes: [UInt8]) -> Bool {
            BlockingSocket.write(socket, bytes)
        }

        func write(_ text: String) { write(Array(text.utf8)) }

        /// Waits until the client's system has acknowledged all bytes that were written, at most 20 s.
        func untilDelivered() {
            var left: Int32 = 1
            let end = ContinuousClock.now.advanced(by: .seconds(20))
            while ioctl(socket, UInt(TIOCOUTQ), &left) == 0, left > 0, .now < end { sched_yield() }
        }

        /// Sends all received bytes back, until the connection ends.
        func echo() {
            while true {
                let bytes = read()
                if bytes.isEmpty || !write(bytes) { return }
            }
        }

        /// Makes closing the connection send a reset.
        func resetsAtEnd() {
            var hard = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        }
    }

    let port: Int
    private let listener: Int32
    private let open = Lock(0)

    var url: URL { URL(string: "http://127.0.0.1:\(port)/")! }
    /// The number of connections that the server has not closed.
    var openConnections: Int { open.withLock { $0 } }

    /// `buffer` limits the receive buffer that the system gives each connection.
    init(buffer: Int32? = nil, _ serve: @escaping @Sendable (Peer) -> Void) throws {
        let (listener, address) = try BlockingSocket.listen(backlog: 512, buffer: buffer)
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        let open = open
        Thread.detachNewThread {
            while true {
                let peer = BlockingSocket.accept(listener)
                guard peer >= 0 else { break }
                open.withLock { $0 += 1 }
                Thread.detachNewThread {
                    serve(Peer(socket: peer))
                    _ = close(peer)
                    open.withLock { $0 -= 1 }
                }
            }
            _ = close(listener)
        }
    }

    func stop() { _ = shutdown(listener, Int32(SHUT_RDWR)) }
}
