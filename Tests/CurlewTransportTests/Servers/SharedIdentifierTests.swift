import CurlewCore
import CurlewLocks
import CurlewTransport
import Foundation
import Glibc
import Testing

/// Several transfers of an engine may have one identifier: each session that shares a transport counts its own
/// requests, and all segments of a download belong to one request.
@Suite(
    "Requests with the same identifier",
    .enabled(if: RealServers.areUp, "no real servers are running"),
    .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "evaluators need OpenSSL"),
    .timeLimit(.minutes(4))
)
struct SharedIdentifierTests {
    private final class Evaluator: TrustEvaluation {
        let hosts = Lock<[String]>([])

        func evaluate(_ trust: ServerTrust) throws { hosts.withLock { $0.append(trust.host) } }
    }

    /// Returns a relay that passes bytes between a client and a server. After the client's first bytes it signals
    /// `reached` and waits for `gate`.
    private static func gated(to port: UInt16, reached: DispatchSemaphore, gate: DispatchSemaphore) throws -> ByteServer
    {
        try ByteServer { peer in
            let hello = peer.read()
            reached.signal()
            gate.wait()
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let connected = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            let server = ByteServer.Peer(socket: descriptor)
            guard connected == 0, server.write(hello) else { return }
            let answers = Thread {
                while true {
                    let bytes = server.read()
                    if bytes.isEmpty || !peer.write(bytes) { break }
                }
                shutdown(peer.socket, Int32(SHUT_WR))
            }
            answers.start()
            while true {
                let bytes = peer.read()
                if bytes.isEmpty || !server.write(bytes) { break }
            }
            shutdown(descriptor, Int32(SHUT_RDWR))
            while !answers.isFinished { usleep(1000) }
        }
    }

    @Test("each handshake is evaluated for its own host, even if another one ends first")
    func handshakesAreTheirOwn() async throws {
        let direct = try RealServers.url("NGINX_TLS_HTTP1", "/small")
        let (reached, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let relay = try Self.gated(to: UInt16(try #require(direct.port)), reached: reached, gate: gate)
        defer { relay.stop() }
        let evaluator = Evaluator()
        try await withSecureTransport({ $0.trustEvaluation = evaluator }) { transport in
            let held = TransferRequest(
                identifier: TaskIdentifier(rawValue: 7), url: URL(string: "https://127.0.0.1:\(relay.port)/small")!)
            let other = TransferRequest(identifier: TaskIdentifier(rawValue: 7), url: direct)
            async let first = transport.fetch(held)
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    reached.wait()
                    continuation.resume()
                }
            }
            let second = try await transport.fetch(other)
            gate.signal()
            #expect(second.status == 200)
            #expect(try await first.status == 200)
        }
        #expect(evaluator.hosts.withLock { $0 } == ["localhost", "127.0.0.1"])
    }
}
