import CurlewCore
import CurlewLocks
import Foundation
import Glibc
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite("Batches of commands on a Redis connection")
struct RedisLaneTests {
    private func question(_ commands: [RedisCommand]) -> RedisLane.Question {
        RedisLane.Question(commands: commands, deadline: .now) { _ in }
    }

    private func together(_ questions: [RedisLane.Question]) -> Int { RedisLane.countTogether(questions) }

    @Test("a batch has at most 256 commands, unless one question has more") func commands() {
        let one = question([RedisCommand("PING")])
        #expect(together([]) == 0)
        #expect(together(Array(repeating: one, count: 300)) == 256)
        #expect(together([question(Array(repeating: RedisCommand("PING"), count: 300)), one]) == 1)
    }

    @Test("a batch has a limited number of sent and expected bytes, unless one question has more") func bytes() {
        let sending = question([RedisCommand([Data(count: 1_500_000)])])
        #expect(together(Array(repeating: sending, count: 9)) == 2)
        let large = question([RedisCommand([Data(count: 5_000_000)])])
        #expect(together([large, sending]) == 1)
        #expect(together([sending, large]) == 1)
        let reading = question([RedisCommand("GET", "a").expecting(3_000_000)])
        #expect(together([reading, reading]) == 1)
        #expect(together([reading, question([RedisCommand("PING")])]) == 2)
    }

    @Test("a command that times out before it is sent does not count as a failure of the server")
    func waited() async throws {
        let server = RedisServer(
            try RedisAddress("redis://127.0.0.1"), connectTimeout: .seconds(5), operationTimeout: .seconds(5),
            maximumAnswer: 1000)
        let lane = RedisLane(server, number: 0)
        for _ in 0..<9 {
            let answer = await withCheckedContinuation { continuation in
                lane.ask(
                    RedisLane.Question(commands: [RedisCommand("PING")], deadline: .now) {
                        continuation.resume(returning: $0.map(\.count))
                    })
            }
            #expect(answer == .failure(.timedOut))
        }
        #expect(server.admitQuestion())
        #expect(server.counts.withLock { $0.timedOut } == 9)
    }

    @Test(
        "many readers of large bodies share a connection",
        .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
    )
    func readers() async throws {
        let server = try await RedisProcess()
        let store = RedisCacheStore(
            url: server.url(), connectTimeout: .seconds(5), operationTimeout: .seconds(5), connections: 1)
        let stored = entry("a")
        #expect(await store.put(stored, StoreSupport.bytes(4_000_000), chunk: 1 << 20))
        let found = try #require(await store.entries(for: stored.key).first)
        // Together, the bodies exceed the limit of one answer.
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<30 { group.addTask { await found.body.reader(of: 0..<4_000_000) != nil } }
            for await isThere in group { #expect(isThere) }
        }
        #expect(store.faults == RedisCacheFaults())
    }
}

@Suite(
    "Descriptors of Redis connections",
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers"))
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
