public import Foundation
internal import Glibc

/// A port on 127.0.0.1 that never sends a response.
///
///     let deadEnd = try DeadEnd(.refusing)
///     await #expect(throws: CurlewError.Code.connectFailed) { try await session.request(deadEnd.url).data() }
///
/// The object reserves the port for its lifetime, so no other process can listen on it meanwhile. It needs no thread.
public final class DeadEnd: Sendable {
    /// The way in which the port fails to respond.
    public enum Kind: Sendable, CaseIterable {
        /// Refuses connections (RST).
        case refusing
        /// Completes connections and accepts bytes, but never responds.
        case silent
        /// Never completes a connection: its accept queue is full.
        case saturated
    }

    /// The port on 127.0.0.1.
    public let port: Int
    private let descriptors: [Int32]

    /// Reserves a port.
    public init(_ kind: Kind) throws {
        switch kind {
        case .refusing:
            // The socket is bound but does not listen.
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

    /// Connects until the kernel stops completing connections: with a backlog of 0, at the second or third attempt.
    private static func fill(_ port: Int) -> [Int32] {
        var held: [Int32] = []
        for _ in 0..<8 {
            guard let descriptor = try? Sockets.stream() else { break }
            held.append(descriptor)
            let code = Sockets.connect(descriptor, to: port)
            guard code == EINPROGRESS else { continue }
            // On loopback, connect either completes at once or never; the short timeout is for a busy machine.
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            if poll(&entry, 1, 50) == 0 { break }
        }
        return held
    }
}
