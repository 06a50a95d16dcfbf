import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Glibc
import Testing

@Suite("TCP keep-alive", .timeLimit(.minutes(4)))
struct KeepAliveTests {
    /// Returns the keep-alive options of each of this process's sockets that is connected to `port`.
    private func options(ofSocketsTo port: Int) -> [[Int32]] {
        let tcp = Int32(IPPROTO_TCP)
        return values(
            [(SOL_SOCKET, SO_KEEPALIVE), (tcp, TCP_KEEPIDLE), (tcp, TCP_KEEPINTVL), (tcp, TCP_KEEPCNT)],
            ofSocketsTo: port)
    }

    /// Returns the timeout for unacknowledged bytes of each such socket, in milliseconds.
    private func timeouts(ofSocketsTo port: Int) -> [Int32] {
        values([(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT)], ofSocketsTo: port).flatMap(\.self)
    }

    private func values(_ options: [(level: Int32, name: Int32)], ofSocketsTo port: Int) -> [[Int32]] {
        (0..<4096).compactMap { fd in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(Int32(fd), $0, &length) }
            }
            guard code == 0, address.sin_family == sa_family_t(AF_INET), UInt16(bigEndian: address.sin_port) == port
            else { return nil }
            return options.map {
                var value: Int32 = -1
                var size = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(Int32(fd), $0.level, $0.name, &value, &size)
                return value
            }
        }
    }

    @Test func `connections are probed by default`() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            #expect(options(ofSocketsTo: server.port) == [[1, 60, 30, 3]])
        }
    }

    @Test(arguments: [
        (KeepAlive(idle: .seconds(7), interval: .seconds(2), probes: 5), [1, 7, 2, 5] as [Int32]),
        (KeepAlive(idle: .zero, interval: .seconds(100_000), probes: 1_000), [1, 1, 32_767, 127] as [Int32]),
    ])
    func `the configuration says how`(_ keepAlive: KeepAlive, _ expected: [Int32]) async throws {
        try await withTransport({ $0.keepAlive = keepAlive }) { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            #expect(options(ofSocketsTo: server.port) == [expected])
        }
    }

    @Test(
        arguments: [(nil, 0), (.seconds(30), 30_000), (.zero, 1), (.seconds(1 << 40), Int32.max)]
            as [(Duration?, Int32)])
    func `unacknowledged bytes have a timeout of their own`(_ timeout: Duration?, _ expected: Int32) async throws {
        try await withTransport({ $0.keepAlive = KeepAlive(unacknowledgedTimeout: timeout) }) { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            #expect(timeouts(ofSocketsTo: server.port) == [expected])
        }
    }

    @Test(
        arguments: [
            (KeepAlive(), 150_000), (KeepAlive(unacknowledgedTimeout: .seconds(30)), 30_000),
            (KeepAlive(idle: .seconds(1), interval: .seconds(2), probes: 3), 7_000),
            (KeepAlive(idle: .seconds(Int64.max), interval: .seconds(Int64.max), probes: .max), Int32.max), (nil, 0),
        ] as [(KeepAlive?, Int32)])
    func `over HTTP/2 unacknowledged bytes have the time of an idle peer`(
        _ keepAlive: KeepAlive?, _ expected: Int32
    ) async throws {
        try await withPool(.http2, { $0.keepAlive = keepAlive }) { transport, server in
            try await transport.expectSuccess(server.url("/get"))
            #expect(timeouts(ofSocketsTo: server.port) == [expected])
        }
    }

    @Test func `nil leaves them alone`() async throws {
        try await withTransport({ $0.keepAlive = nil }) { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            #expect(options(ofSocketsTo: server.port).map(\.first) == [0])
        }
    }
}
