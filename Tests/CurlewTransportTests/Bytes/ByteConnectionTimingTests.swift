import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Cancellation of byte connections", .timeLimit(.minutes(4)), .serialized)
struct ByteConnectionTimingTests {
    private static let rounds = 7

    /// Cancels when `ready` returns, and expects the end within 50 ms. A busy machine may delay most rounds, so the
    /// second fastest decides.
    private func expectQuickEnd(
        _ operation: @escaping @Sendable () async -> CurlewError?, ready: () async throws -> Void
    ) async throws {
        var times: [Duration] = []
        for _ in 0..<Self.rounds {
            let task = Task { await operation() }
            try await ready()
            let start = ContinuousClock.now
            task.cancel()
            let error = await task.value
            times.append(ContinuousClock.now - start)
            #expect(error?.code == .cancelled)
        }
        #expect(times.sorted()[1] < Duration.milliseconds(50).asTestBound, "\(times)")
    }

    @Test func byteConnectionCancelsQuicklyWhileConnecting() async throws {
        let deaf = try DeafListener()
        defer { deaf.close() }
        let url = try #require(URL(string: "http://127.0.0.1:\(deaf.port)/"))
        let transport = CurlTransport()
        var count = 0
        try await expectQuickEnd {
            do throws(CurlewError) {
                _ = try await transport.connect(request(url))
                return nil
            } catch {
                return error
            }
        } ready: {
            count += 1
            try await eventually { transport.statistics.connectionsMade >= count }
        }
        await expectNoConnection(transport, countingSockets: false)
        await transport.shutdown()
    }

    @Test func byteConnectionCancelsQuicklyWhileReading() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            try await expectQuickEnd {
                await connection.failureOfReceive()
            } ready: {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    @Test func byteConnectionCancelsQuicklyWhileWriting() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        try await withByteServer(serve: { _ in gate.wait() }) { transport, server in
            let connection = try await transport.connect(request(server.url), sendBuffer: 1)
            let bytes = [UInt8](repeating: 1, count: 20_000_000)
            try await expectQuickEnd {
                await connection.failureOfSend(bytes)
            } ready: {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}
