public import Foundation
internal import Glibc

/// A port on 127.0.0.1 that does not answer.
///
///     let deadEnd = try DeadEnd(.refusing)
///     await #expect(throws: CurlewError.Code.connectFailed) { try await session.request(deadEnd.url).data() }
///
/// The port is held as long as the object lives, so no other process can listen on it meanwhile. It needs no
/// thread.
public final class DeadEnd: Sendable {
    /// How it fails to answer.
    public enum Kind: Sendable, CaseIterable {
        /// Connecting is refused (RST).
        case refusing
        /// Connecting works and sending too; nothing ever answers.
        case silent
        /// Connecting never completes: the queue of connections to accept is full.
        case saturated
    }

    /// The port on 127.0.0.1.
    public let port: Int
    private let descriptors: [Int32]

    /// Takes a port.
    public init(_ kind: Kind) throws {
        switch kind {
        case .refusing:
            // Bound and not listening.
            let descriptor = try Sockets.stream()
            descriptors = [descriptor]
            do throws(SystemError) {
                try Sockets.bind(descriptor, to: 0)
                port = try Sockets.localPort(descriptor)
            } catch {
                _ = close(descriptor)
                throw error
            }
        case .silent:
            let listener = try Sockets.listen(backlog: 4096)
            descriptors = [listener.descriptor]
            port = listener.port
        case .saturated:
            let listener = try Sockets.listen(backlog: 0)
            port = listener.port
            descriptors = [listener.descriptor] + Self.fill(listener.port)
        }
    }

    deinit { for descriptor in descriptors { _ = close(descriptor) } }

    /// `http://127.0.0.1:port/`.
    public var url: URL { URL(string: "http://127.0.0.1:\(port)/") ?? URL(filePath: "/") }

    /// Connects until the kernel stops answering: with a backlog of 0 that is the second or third time.
    private static func fill(_ port: Int) -> [Int32] {
        var held: [Int32] = []
        for _ in 0..<8 {
            guard let descriptor = try? Sockets.stream() else { break }
            held.append(descriptor)
            let code = Sockets.connect(descriptor, to: port)
            guard code == EINPROGRESS else { continue }
            // On loopback a connection stands when connect returns, or it does not come about at all; the
            // little time is for a machine that is busy.
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            if poll(&entry, 1, 50) == 0 { break }
        }
        return held
    }
}
