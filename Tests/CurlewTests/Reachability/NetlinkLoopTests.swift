import CurlewCore
import Foundation
import Glibc
import Testing

@testable import Curlew

@Suite("The netlink loop of the reachability monitor", .timeLimit(.minutes(4)))
struct NetlinkLoopTests {
    @Test(arguments: 1...5) func `after an overrun everything is asked for once more`(losing: Int) throws {
        let kernel = Kernel(losing: losing)
        let statuses = try statuses(of: kernel)
        #expect(statuses.last == .reachable(.ethernetOrWiFi))
        #expect(kernel.socketCount == 2)
    }

    /// A dump may lack entries that changed while it was made.
    @Test(arguments: [(1, true), (9, true), (10, false)]) func `a dump that was interrupted begins again`(
        times: Int, isComplete: Bool
    ) throws {
        let kernel = Kernel(interrupting: times)
        let statuses = try statuses(of: kernel)
        #expect(statuses == [isComplete ? .reachable(.ethernetOrWiFi) : .notReachable])
        #expect(kernel.socketCount == 1)
    }

    /// Returns the statuses that the loop reports until it is stopped after the first one.
    private func statuses(of kernel: Kernel) throws -> [NetworkReachabilityStatus] {
        let stop = Pipe()
        var statuses: [NetworkReachabilityStatus] = []
        let loop = try #require(NetlinkLoop(target: .host("192.0.2.7"), open: kernel.open))
        loop.run(until: stop.fileHandleForReading.fileDescriptor) { status, _ in
            statuses.append(status)
            try? stop.fileHandleForWriting.close()
        }
        return statuses
    }

    @Test func `a thread that has to end does not ask once more`() throws {
        let kernel = Kernel(losing: 1)
        let stop = Pipe()
        try stop.fileHandleForWriting.close()
        let loop = try #require(NetlinkLoop(target: .defaultRoute, open: kernel.open))
        loop.run(until: stop.fileHandleForReading.fileDescriptor) { _, _ in
            Issue.record("a report of what is not known")
        }
        #expect(kernel.socketCount == 1)
    }
}

/// Answers as the kernel does, except that it loses one message of its first socket or interrupts dumps of links.
private final class Kernel {
    private let losing: Int
    private let interrupting: Int
    private(set) var socketCount = 0

    init(losing: Int = 0, interrupting: Int = 0) { (self.losing, self.interrupting) = (losing, interrupting) }

    func open() -> (any RoutingSocket)? {
        socketCount += 1
        return ScriptedSocket(losing: socketCount == 1 ? losing : 0, interrupting: interrupting)
    }
}

private final class ScriptedSocket: RoutingSocket {
    private let pipe = Pipe()
    private let losing: Int
    /// The number of dumps of links that are empty and marked as interrupted.
    private var interrupting: Int
    private var sequence: UInt32 = 0
    private var waiting: [Data] = []

    init(losing: Int, interrupting: Int) {
        (self.losing, self.interrupting) = (losing, interrupting)
        // The end of file keeps the descriptor readable forever.
        try? pipe.fileHandleForWriting.close()
    }

    var descriptor: Int32 { pipe.fileHandleForReading.fileDescriptor }

    func requestDump(of type: UInt16, family: UInt8) -> UInt32 {
        sequence += 1
        // RTM_GETLINK, and NLMSG_DONE, with NLM_F_DUMP_INTR.
        let isInterrupted = type == 18 && interrupting > 0
        if isInterrupted { interrupting -= 1 }
        let links = type == 18 && !isInterrupted ? Self.link : Data()
        waiting.append(links + Self.message(type: 3, flags: isInterrupted ? 0x10 : 0, sequence, Data(count: 4)))
        return sequence
    }

    func requestRoute(to address: [UInt8]) -> UInt32 {
        sequence += 1
        // RTM_NEWROUTE to a host over link 2 (RTN_UNICAST, RTA_OIF).
        let body = Data([2, 32, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0, 8, 0, 4, 0, 2, 0, 0, 0])
        waiting.append(Self.message(type: 24, sequence, body))
        return sequence
    }

    /// Fails if no message is left: nothing follows a lost message, and a real socket would wait forever.
    func receive<R>(_ body: (UnsafeRawBufferPointer) -> R) -> Received<R> {
        guard !waiting.isEmpty else { return .failed }
        let next = waiting.removeFirst()
        if sequence == losing { return .overrun }
        return .message(next.withUnsafeBytes(body))
    }

    /// RTM_NEWLINK of link 2, which is up and runs.
    private static let link = message(
        type: 16, 0, Data([0, 0, 1, 0, 2, 0, 0, 0, 0x41, 0, 0, 0, 0, 0, 0, 0, 8, 0, 3, 0]) + Data("eth\0".utf8))

    private static func message(type: UInt16, flags: UInt8 = 0, _ sequence: UInt32, _ body: Data) -> Data {
        var header = Data()
        withUnsafeBytes(of: UInt32(16 + body.count)) { header.append(contentsOf: $0) }
        withUnsafeBytes(of: type) { header.append(contentsOf: $0) }
        header.append(contentsOf: [flags, 0])
        withUnsafeBytes(of: sequence) { header.append(contentsOf: $0) }
        return header + Data(count: 4) + body
    }
}
