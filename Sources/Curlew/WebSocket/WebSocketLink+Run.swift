internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// One task reads, one writes, and one watches the deadlines. They end together.
extension WebSocketLink {
    private enum Part {
        case clock, hook
        case reader(bytes: Int64)
        case writer(failed: Bool)
    }

    private static let readSize = 128 * 1024
    /// The most bytes written at once. After each write the state machine is notified, and extends the deadlines of
    /// pings that wait for the bytes.
    private static let writeSize = 256 * 1024

    /// Prepares a connection before other callers may use it.
    typealias Hook = @Sendable (Connection) async throws -> Void

    /// The end of a connection, and the bytes transferred after the handshake.
    struct Summary: Sendable {
        let ending: WebSocketEnding
        var bytesSent: Int64
        var bytesReceived: Int64 = 0
    }

    /// Runs the open WebSocket over its connection until its end.
    func run(_ upgraded: WebSocketUpgrade.Upgraded, at url: URL, hook: Hook?) async -> Summary {
        let (wire, agreed, first) = (upgraded.wire, upgraded.agreement.compression, upgraded.rest)
        let outbox = WebSocketOutbox(limit: options.sendBuffer)
        outbox.open(
            WebSocketSender(role: .client, compressor: agreed.map { MessageCompressor($0, role: .client) }), over: wire)
        let connection = Connection(url: url, head: upgraded.head, agreement: upgraded.agreement, outbox: outbox)
        let failure = begin(connection, over: wire)
        // The request was cancelled during the handshake: the new connection ends at once.
        if let failure { stop(with: failure) }
        if hook == nil { opening.resolve(.success(connection)) }
        let bytesReceived = await withTaskGroup(of: Part.self) { group in
            // Decompression must not run on the loop's thread, which other transfers share: a few bytes may become a
            // large message.
            group.addTask(executorPreference: agreed == nil ? wire.executor : nil) {
                .reader(bytes: await self.read(from: wire, first, decompressing: agreed))
            }
            // A child task: while the run is cancelled, its own task is locked until the cancellation handlers of the
            // user's hook have returned, and the loop's thread would wait for them to resume the writer.
            group.addTask(executorPreference: wire.executor) {
                .writer(failed: await self.write(outbox, to: wire))
            }
            group.addTask {
                await self.keepTime(of: outbox)
                return .clock
            }
            if let hook {
                group.addTask {
                    await self.prepare(connection, hook)
                    return .hook
                }
            }
            var bytes = await Self.untilEnded(&group)
            if case .violated? = state.withLock({ $0.machine?.ending }) { await linger(on: wire) }
            wire.close()
            group.cancelAll()
            for await case .reader(let count) in group { bytes = count }
            return bytes
        }
        let ending = state.withLock { state in
            state.wire = nil
            return state.machine?.ending ?? .cut
        }
        return Summary(ending: ending, bytesSent: Int64(outbox.bytesSent), bytesReceived: bytesReceived)
    }

    private func begin(_ connection: Connection, over wire: any ByteConnection) -> CurlewError? {
        state.withLock { state in
            state.machine = WebSocketStateMachine(clocks: options.clocks, at: .now)
            state.reconnection?.connectionOpened(at: .now)
            state.wire = wire
            state.lastConnection = connection
            state.lastEnding = nil
            state.clock = Clock()
            return state.failure
        }
    }

    /// Waits until the connection has ended. That is when the writer ends: after the reader's end it still sends the
    /// last frame. If the writer fails, the reader's end is awaited too, because the peer may have sent the reason.
    /// Returns the number of bytes read, or 0 if the reader has not ended yet.
    private static func untilEnded(_ group: inout TaskGroup<Part>) async -> Int64 {
        var (hasReaderEnded, hasWriterFailed, bytes) = (false, false, Int64(0))
        while let part = await group.next() {
            switch part {
            case .clock, .hook: break
            case .reader(let count):
                (hasReaderEnded, bytes) = (true, count)
                if hasWriterFailed { return bytes }
            case .writer(let failed):
                if !failed || hasReaderEnded { return bytes }
                hasWriterFailed = true
            }
        }
        return bytes
    }

    /// Ends this direction and discards incoming bytes until the peer ends or the clock closes the connection. Closing
    /// a connection with unread bytes resets it, and the peer could lose the last frame.
    private func linger(on wire: any ByteConnection) async {
        // Throws over TLS, which libcurl cannot half-close. We then wait for the peer's end anyway.
        try? await wire.finishSending()
        while let bytes = try? await wire.receive(maximum: Self.readSize), !bytes.isEmpty {}
    }

    // MARK: Hook

    /// Publishes a connection that its hook has prepared, and returns the former opening for the caller to resolve.
    /// `nil` if the connection has ended: the check and the publication are one step under the lock. The connection may
    /// end between this step and the resolution. Callers that wait for the former opening then get a closed connection,
    /// and wait for the next one.
    func handOver(_ connection: Connection) -> Opening? {
        let known = Opening()
        known.resolve(.success(connection))
        return state.withLock { state in
            guard state.machine?.isOpen == true else { return nil }
            return exchange(&state.opening, with: known)
        }
    }

    /// Runs the hook, then publishes the connection. A hook that throws while the connection is open ends the
    /// WebSocket.
    private func prepare(_ connection: Connection, _ hook: Hook) async {
        do {
            try await hook(connection)
            handOver(connection)?.resolve(.success(connection))
        } catch {
            guard state.withLock({ $0.machine?.isOpen == true }) else { return }
            stop(
                with: error as? CurlewError
                    ?? CurlewError(
                        .sendFailed, phase: .send, reason: "the closure for a new connection threw an error",
                        underlying: error))
        }
    }

    // MARK: Reader

    /// Reads until the end. Returns the number of bytes, including those that arrived with the handshake.
    private func read(
        from wire: any ByteConnection, _ first: [UInt8], decompressing agreed: PermessageDeflate?
    ) async -> Int64 {
        var receiver = WebSocketReceiver(
            sender: .server, limits: WebSocketLimits(message: options.maximumMessageSize),
            decompressor: agreed.map { MessageDecompressor($0, sender: .server) })
        var bytes = first
        var total = Int64(first.count)
        while true {
            var offset = 0
            taking: while true {
                switch take(&receiver, bytes, &offset) {
                case .all: break taking
                case .full: if hasEnded { break taking } else { await untilRoom() }
                case .broken(let violation):
                    await untilAnswered()
                    carryOut(state.withLock { $0.machine?.violated(violation, at: .now) ?? .none })
                    return total
                }
            }
            if hasEnded { return total }
            // Released before the wait, which may be long.
            bytes = []
            do throws(CurlewError) {
                guard let next = try await wire.receive(maximum: Self.readSize) else {
                    carryOut(state.withLock { $0.machine?.wireEnded(nil) ?? .none })
                    return total
                }
                bytes = next
                total += Int64(next.count)
            } catch {
                carryOut(state.withLock { $0.machine?.wireEnded(error) ?? .none })
                return total
            }
        }
    }

    private enum Taken {
        case all, full
        case broken(WebSocketViolation)
    }

    /// Parses the bytes from `offset` on while there is room for messages, and advances `offset`.
    private func take(_ receiver: inout WebSocketReceiver, _ bytes: [UInt8], _ offset: inout Int) -> Taken {
        bytes.withUnsafeBytes { whole in
            var input = UnsafeRawBufferPointer(rebasing: whole[offset...])
            defer { offset = whole.count - input.count }
            do throws(WebSocketViolation) {
                while let event = try receiver.next(&input) {
                    let action = state.withLock { $0.machine?.received(event, at: .now) ?? .none }
                    if !carryOut(action) { return .full }
                }
            } catch {
                return .broken(error)
            }
            return .all
        }
    }

    private func untilRoom() async {
        state.withLock { $0.machine?.readingPaused() }
        await inbox.untilRoom { hasEnded }
        let alarm = state.withLock { state in
            state.machine?.readingResumed(at: .now)
            return state.earlierDeadline()
        }
        alarm?.resolve(())
    }

    /// Waits until the user has answered the messages that precede the peer's violation, for at most `closeTimeout`.
    /// The close frame follows these answers, as if the violation had arrived later.
    private func untilAnswered() async {
        state.withLock { $0.machine?.readingPaused() }
        await withTaskGroup { group in
            group.addTask { _ = await CancellableSleep.wait(for: self.options.closeTimeout) }
            group.addTask { await self.inbox.untilRead() }
            await group.next()
            group.cancelAll()
        }
    }

    private var hasEnded: Bool { state.withLock { $0.machine?.ending != nil } }

    // MARK: Writer

    /// Writes until the outbox ends. Returns `true` if the connection failed.
    private func write(_ outbox: WebSocketOutbox, to wire: any ByteConnection) async -> Bool {
        while let bytes = await outbox.next() {
            do throws(CurlewError) {
                try await write(bytes, of: outbox, to: wire)
            } catch {
                // The error is recorded before `abort` resumes the senders, which ask for it. The opening is renewed
                // under the same lock, so that a hook that returns now cannot publish the connection.
                let alarm = state.withLock { state in
                    _ = state.machine?.writeFailed(error, at: .now)
                    state.renewOpening()
                    return state.earlierDeadline()
                }
                outbox.abort()
                alarm?.resolve(())
                return true
            }
        }
        return false
    }

    /// Writes in pieces, so that the state machine sees the progress of a large message.
    private func write(
        _ bytes: [UInt8], of outbox: WebSocketOutbox, to wire: any ByteConnection
    ) async throws(CurlewError) {
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Self.writeSize)
            // Most messages fit into one piece, which needs no copy.
            try await wire.send(end - start == bytes.count ? bytes : Array(bytes[start..<end]))
            let position = outbox.recordSent(end - start)
            state.withLock { $0.machine?.wrote(from: position, at: .now) }
            start = end
        }
    }

    // MARK: Clock

    /// Notifies the state machine of its deadlines, including the one for sending the last frame.
    private func keepTime(of outbox: WebSocketOutbox) async {
        while !Task.isCancelled {
            let (deadline, alarm) = state.withLock { state in
                let deadline = state.machine?.nextDeadline
                return (deadline, state.clock.sleep(until: deadline))
            }
            let timer = deadline.map { CancellableSleep.startTimer(for: $0 - .now) { alarm.resolve(()) } }
            await alarm.wait()
            timer?.cancel()
            if Task.isCancelled { return }
            let position = outbox.bytesQueued
            carryOut(state.withLock { $0.machine?.timePassed(at: .now, behind: position) ?? .none })
        }
    }
}
