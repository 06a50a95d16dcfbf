import CurlewTesting
import Foundation
import Glibc
import Testing

@Suite("DeadEnd", .timeLimit(.minutes(4)))
struct DeadEndTests {
    @Test func refuses() throws {
        let end = try DeadEnd(.refusing)
        let error = #expect(throws: WireClient.Failure.self) { try WireClient(port: end.port) }
        #expect(error?.text.contains("refused") == true)
    }

    @Test func staysSilent() throws {
        let end = try DeadEnd(.silent)
        let client = try WireClient(port: end.port)
        #expect(client.send("GET / HTTP/1.1\r\n\r\n"))
        #expect(!client.readMore(patience: 30))
        #expect(client.ending == .open)
    }

    @Test func letsNobodyConnectWhenSaturated() throws {
        let end = try DeadEnd(.saturated)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(end.port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(code == -1 && errno == EINPROGRESS)
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        #expect(uninterrupted { poll(&entry, 1, 100) } == 0)
    }
}
