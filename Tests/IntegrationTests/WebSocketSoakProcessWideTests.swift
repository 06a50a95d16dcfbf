import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Opens many WebSockets, sends many messages, and expects that no resource leaks. `scripts/soak` is the long form:
/// `CURLEW_SOAK_SOCKETS` and `CURLEW_SOAK_MESSAGES` set the numbers.
@Suite("WebSocket soak", .serialized, .timeLimit(.minutes(120)))
struct WebSocketSoakProcessWideTests {
    private static let parts = 10
    /// The variation of an allocator's arenas, in kilobytes.
    private static let wandering = 8 * 1024

    /// The resources of the process after a part.
    private struct Sample {
        let done: Int
        let residentKilobytes = ProcessMemory.residentKilobytes
        let fileDescriptors = LeakCheck.openFileDescriptors
        let threads = LeakCheck.threadCount

        var line: String { "\(done): \(residentKilobytes) kB, \(fileDescriptors) descriptors, \(threads) threads" }
    }

    private static func expectFlat(_ samples: [Sample]) throws {
        print(samples.map(\.line).joined(separator: "\n"))
        let first = try #require(samples.first)
        for sample in samples {
            #expect(sample.fileDescriptors <= first.fileDescriptors, "\(sample.line)")
            #expect(sample.threads <= first.threads + 4, "\(sample.line)")
            if !IntegrationEnvironment.isSanitized {
                #expect(sample.residentKilobytes - first.residentKilobytes < wandering, "\(sample.line)")
            }
        }
    }

    @Test func openedAndClosedWebSocketsLeakNothing() async throws {
        let total = IntegrationEnvironment.number("CURLEW_SOAK_SOCKETS", default: 300)
        let server = try TestServer()
        server.webSocket("/echo", .echo)
        // The first sleep in a process makes the runtime open a descriptor, which stays open.
        try await Task.sleep(for: .nanoseconds(1))
        let check = LeakCheck(.fileDescriptors, .threads(allowing: 8))
        do {
            let session = Session()
            var samples: [Sample] = []
            var idle: LeakCheck?
            for part in 1...Self.parts {
                for number in 0..<total / Self.parts {
                    let socket = session.webSocket(server.url("/echo"))
                    try await socket.send("message \(number)")
                    for try await message in socket.messages {
                        #expect(message == .text("message \(number)"))
                        break
                    }
                    try await socket.close()
                    #expect(socket.closeCode == .normalClosure)
                }
                try await server.waitForOpenConnections(atMost: 0)
                server.clearRequests()
                // The client closes its descriptor a moment after the server has closed the connection.
                try await idle?.wait()
                samples.append(Sample(done: part * (total / Self.parts)))
                if idle == nil { idle = LeakCheck(.fileDescriptors) }
            }
            try Self.expectFlat(samples)
            #expect(server.connectionCount == total / Self.parts * Self.parts)
            #expect(await session.activeRequests.isEmpty)
            await session.invalidate()
        }
        try await check.wait(timeout: .seconds(10))
    }

    @Test func smallMessagesAreEchoedInOrderWithoutLeaks() async throws {
        let total = IntegrationEnvironment.number("CURLEW_SOAK_MESSAGES", default: 20_000)
        let window = 64
        let server = try TestServer()
        server.webSocket("/echo", .echo)
        let session = Session()
        let socket = session.webSocket(server.url("/echo"))
        for number in 0..<window { try await socket.send("\(number)") }
        var samples: [Sample] = []
        var received = 0
        for try await message in socket.messages {
            guard message == .text("\(received)") else {
                Issue.record("\(message) came as number \(received)")
                break
            }
            received += 1
            if received % (total / Self.parts) == 0 { samples.append(Sample(done: received)) }
            if received == total { break }
            if received + window <= total { try await socket.send("\(received + window - 1)") }
        }
        #expect(received == total)
        try Self.expectFlat(samples)
        try await socket.close()
        await session.invalidate()
    }
}
