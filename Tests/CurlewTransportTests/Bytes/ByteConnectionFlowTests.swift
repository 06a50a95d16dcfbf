import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Flow of byte connections", .timeLimit(.minutes(4)))
struct ByteConnectionFlowTests {
    @Test func slowReaderPausesItsPeer() async throws {
        let sent = Lock(0)
        try await withByteServer(serve: { peer in
            let chunk = [UInt8](repeating: 1, count: 65536)
            for _ in 0..<1000 {
                if !peer.write(chunk) { return }
                sent.withLock { $0 += chunk.count }
            }
        }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            #expect(try await connection.receive(exactly: 10).count == 10)
            // The peer stops once the system's buffers are full.
            var before = -1
            while before != sent.withLock({ $0 }) {
                before = sent.withLock { $0 }
                try await Task.sleep(for: .milliseconds(200))
            }
            #expect(before < 65_536_000)
            #expect(try await connection.receive(exactly: 65_536_000 - 10).count == 65_536_000 - 10)
            #expect(try await connection.receive(maximum: 1) == nil)
        }
    }

    /// Options that give a request an exclusive connection, closed after use, must not close a byte connection at once.
    @Test(arguments: [TransferAuthentication.Scheme.ntlm, nil])
    func unsharedByteConnectionStaysOpen(_ scheme: TransferAuthentication.Scheme?) async throws {
        try await withByteServer(serve: { peer in _ = peer.write([1, 2, 3]) }) { transport, server in
            var asked = request(server.url)
            asked.options.authentication = scheme.map {
                TransferAuthentication(scheme: $0, username: "u", password: "p")
            }
            if scheme == nil { asked.options.trafficClass = .background }
            let connection = try await transport.connect(asked)
            #expect(try await connection.receive(exactly: 3).count == 3)
        }
    }

    @Test func aSlowPeerMakesTheSenderWait() async throws {
        let gate = DispatchSemaphore(value: 0)
        let taken = Lock(0)
        try await withByteServer(
            buffer: 4096,
            serve: { $0.countBytes(into: taken, after: gate) }
        ) { transport, server in
            let connection = try await transport.connect(request(server.url), sendBuffer: 100_000)
            let given = Lock(0)
            let sender = Task {
                for _ in 0..<500 {
                    try await connection.send([UInt8](repeating: 7, count: 65536))
                    given.withLock { $0 += 65536 }
                }
                try await connection.finishSending()
            }
            var before = -1
            while before != given.withLock({ $0 }) {
                before = given.withLock { $0 }
                try await Task.sleep(for: .milliseconds(200))
            }
            #expect(before < 500 * 65536)
            gate.signal()
            try await sender.value
            try await eventually { taken.withLock { $0 } == 500 * 65536 }
        }
    }

    @Test func aCancelledReaderTakesNoBytes() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            for number in 0..<50 as Range<UInt8> {
                let reader = Task { await connection.failureOfReceive() }
                if number.isMultiple(of: 2) { await Task.yield() }
                reader.cancel()
                #expect(await reader.value?.code == .cancelled)
                try await connection.send([number])
                #expect(try await connection.receive(exactly: 1) == [number])
            }
        }
    }

    /// Each byte reaches either the cancelled reader or the next one, whether the byte or the cancellation is first.
    @Test func bytesThatComeWithACancellationAreNotLost() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            for number in 0..<200 as Range<UInt8> {
                try await connection.send([number])
                let reader = Task { try? await connection.receive(maximum: 1) }
                for _ in 0..<(number % 5) { await Task.yield() }
                reader.cancel()
                if let bytes = await reader.value {
                    #expect(bytes == [number])
                } else {
                    #expect(try await connection.receive(exactly: 1) == [number])
                }
            }
        }
    }

    @Test func cancelledSenderDoesNotEndTheOthers() async throws {
        let gate = DispatchSemaphore(value: 0)
        let taken = Lock(0)
        try await withByteServer(
            buffer: 4096,
            serve: { $0.countBytes(into: taken, after: gate) }
        ) { transport, server in
            let connection = try await transport.connect(request(server.url), sendBuffer: 1)
            let bytes = [UInt8](repeating: 7, count: 20_000_000)
            let sender = Task { await connection.failureOfSend(bytes) }
            await Task.yield()
            sender.cancel()
            #expect(await sender.value?.code == .cancelled)
            gate.signal()
            try await connection.finishSending()
            try await eventually { taken.withLock { $0 } == bytes.count }
        }
    }

    @Test func closingEndsWaitingReadsAndWrites() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        try await withByteServer(serve: { _ in gate.wait() }) { transport, server in
            let connection = try await transport.connect(request(server.url), sendBuffer: 1)
            let reader = Task { await connection.failureOfReceive() }
            let sender = Task {
                // More bytes than the system's buffers hold.
                var error: CurlewError?
                while error == nil { error = await connection.failureOfSend([UInt8](repeating: 1, count: 1 << 20)) }
                return error
            }
            await Task.yield()
            connection.close()
            #expect(await reader.value?.code == .cancelled)
            #expect(await sender.value != nil)
            #expect(await connection.failureOfReceive()?.code == .cancelled)
            #expect(await connection.failureOfSend()?.code == .cancelled)
        }
    }

    @Test func shutdownEndsByteConnections() async throws {
        let server = try ByteServer { $0.echo() }
        defer { server.stop() }
        let transport = CurlTransport()
        let connection = try await transport.connect(request(server.url))
        let reader = Task { await connection.failureOfReceive() }
        await Task.yield()
        await transport.shutdown()
        #expect(await reader.value?.code == .sessionClosed)
        #expect(await connection.failureOfReceive()?.code == .sessionClosed)
        #expect(await connection.failureOfSend()?.code == .sessionClosed)
        let late = await #expect(throws: CurlewError.self) { _ = try await transport.connect(request(server.url)) }
        #expect(late?.code == .sessionClosed)
        try await eventually { server.openConnections == 0 }
    }

    @Test func sendNowKeepsTheOrderOfBytes() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            for number in 0..<200 as Range<UInt8> {
                // `sendNow` sends nothing while the loop has earlier bytes to send.
                if number.isMultiple(of: 3) { try await connection.send([number]) }
                let next = [UInt8](repeating: number &+ 1, count: 100)
                let count = next.withUnsafeBytes { connection.sendNow($0) }
                if count < next.count { try await connection.send(Array(next[count...])) }
                let expected = (number.isMultiple(of: 3) ? [number] : []) + next
                #expect(try await connection.receive(exactly: expected.count) == expected)
            }
            connection.close()
            #expect(([1] as [UInt8]).withUnsafeBytes { connection.sendNow($0) } == 0)
        }
    }

    @Test func sendNowStopsIfPeerReadsNothing() async throws {
        let gate = DispatchSemaphore(value: 0)
        let taken = Lock(0)
        try await withByteServer(
            buffer: 4096,
            serve: { $0.countBytes(into: taken, after: gate) }
        ) { transport, server in
            let connection = try await transport.connect(request(server.url))
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            var sent = 0
            while true {
                let count = piece.withUnsafeBytes { connection.sendNow($0) }
                sent += count
                if count == 0 { break }
            }
            try await connection.send([1])
            #expect(([2] as [UInt8]).withUnsafeBytes { connection.sendNow($0) } == 0)
            gate.signal()
            try await connection.finishSending()
            #expect(([2] as [UInt8]).withUnsafeBytes { connection.sendNow($0) } == 0)
            try await eventually { taken.withLock { $0 } == sent + 1 }
        }
    }

    @Test func tasksOnConnectionExecutorReadAndWrite() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url), sendBuffer: 0)
            let executor = try #require(connection.executor)
            let task = Task(executorPreference: executor) {
                for number in 0..<200 as Range<UInt8> {
                    try await connection.send([number])
                    #expect(try await connection.receive(exactly: 1) == [number])
                }
            }
            try await task.value
        }
    }

    @Test func tasksOnConnectionExecutorEndAfterShutdown() async throws {
        let server = try ByteServer { $0.echo() }
        defer { server.stop() }
        let transport = CurlTransport()
        let connection = try await transport.connect(request(server.url))
        let executor = try #require(connection.executor)
        let waiting = Task(executorPreference: executor) { await connection.failureOfReceive()?.code }
        await transport.shutdown()
        #expect(await waiting.value == .sessionClosed)
        let late = Task(executorPreference: executor) { await connection.failureOfReceive()?.code }
        #expect(await late.value == .sessionClosed)
    }

    @Test func aDroppedConnectionCloses() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            var connection: (any ByteConnection)? = try await transport.connect(request(server.url))
            try await connection?.send([1])
            connection = nil
            try await eventually { server.openConnections == 0 }
        }
    }

    /// The number of yields varies, so the cancellation arrives before, during and after the connection is made.
    @Test func cancelledConnectLeaksNothing() async throws {
        try await withByteServer(serve: { $0.echo() }, countingSockets: false) { transport, server in
            for round in 0..<200 {
                let task = Task { try? await transport.connect(request(server.url)) }
                for _ in 0..<(round % 20) { await Task.yield() }
                task.cancel()
                (await task.value)?.close()
            }
            try await eventually { server.openConnections == 0 }
        }
    }

    @Test func thousandConnectsAndClosesLeakNothing() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<20 {
                    group.addTask {
                        for round in 0..<50 {
                            let connection = try await transport.connect(request(server.url))
                            let byte = UInt8(truncatingIfNeeded: worker &* 50 &+ round)
                            try await connection.send([byte])
                            #expect(try await connection.receive(exactly: 1) == [byte])
                            if round.isMultiple(of: 2) { connection.close() }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(transport.statistics.connectionsMade == 1000)
            try await eventually { server.openConnections == 0 }
        }
    }

    @Test func byteConnectionsIgnoreTheLimitOfExchanges() async throws {
        try await withByteServer({ $0.maximumConnectionsPerHost = 2 }, serve: { $0.echo() }) { transport, server in
            var connections: [any ByteConnection] = []
            for _ in 0..<100 { connections.append(try await transport.connect(request(server.url))) }
            for (number, connection) in connections.enumerated() {
                try await connection.send([UInt8(number)])
                #expect(try await connection.receive(exactly: 1) == [UInt8(number)])
            }
            try await eventually { transport.statistics.byteConnections == 100 }
        }
    }
}

extension ByteServer.Peer {
    /// Waits for the gate, then counts bytes until the connection ends.
    fileprivate func countBytes(into taken: Lock<Int>, after gate: DispatchSemaphore) {
        gate.wait()
        while true {
            let count = read().count
            if count == 0 { return }
            taken.withLock { $0 += count }
        }
    }
}
