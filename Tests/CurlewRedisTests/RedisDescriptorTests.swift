import CurlewRedis
import Foundation
import Glibc
import Testing

@Suite("Descriptors", .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers"))
struct RedisDescriptorTests {
    @Test("programs that are started do not inherit connections") func inherited() async throws {
        let server = try await RedisProcess()
        let port = try #require(URL(string: server.url())?.port)
        let store = RedisCacheStore(url: server.url())
        try await store.ping()
        let flags = (0..<1024).compactMap { Self.port(ofPeer: Int32($0)) == port ? fcntl(Int32($0), F_GETFD) : nil }
        #expect(!flags.isEmpty && flags.allSatisfy { $0 & FD_CLOEXEC != 0 })
        withExtendedLifetime((server, store)) {}
    }

    private static func port(ofPeer descriptor: Int32) -> Int? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
        }
        guard code == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
