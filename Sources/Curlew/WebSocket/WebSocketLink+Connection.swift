internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// One task reads, one writes, one keeps the time. They end together.
extension WebSocketLink {
    private enum Part {
        case clock, hook
        case reader(bytes: Int64)
        case writer(failed: Bool)
    }

    private static let readSize = 128 * 1024
    /// So many bytes go out before the clock hears of it: a ping behind them waits for them.
    private static let writeSize = 256 * 1024

    /// What is done with a connection before others may use it.
    typealias Hook = @Sendable (Opening) async throws -> Void

    /// How a connection has ended, and how many bytes went over it behind the handshake.
    struct Course: Sendable {
        let ending: WebSocketEnding
        var bytesSent: Int64
        var bytesReceived: Int64 = 0
    }

    /// Runs the open WebSocket over its connection, until it has ended.
    func run(_ opened: WebSocketUpgrade.Opened, at url: URL, hook: Hook?) async -> Course {
        let (wire, agreed, first) = (opened.wire, opened.agreement.compression, opened.rest)
        let receiver = WebSocketReceiver(
            sender: .server, limits: WebSocketLimits(message: options.maximumMessageSize),
            decompressor: agreed.map { MessageDecompressor($0, sender: .server) })
        let outbox = WebSocketOutbox(limit: options.sendBuffer)
        outbox.open(
            WebSocketSender(role: .client, compressor: agreed.map { MessageCompressor($0, role: .client) }), over: wire)
        let opening = Opening(url: url, head: opened.head, agreement: opened.agreement, outbox: outbox)
        let failure = begin(opening, over: wire)
        // Cancelled meanwhile.
        if let failure { stop(with: failure) }
        if hook == nil { self.opening.resolve(.success(opening)) }
        let bytesReceived = await withTaskGroup(of: Part.self) { group in
            // A few bytes may decompress to a large message: that is not for the loop's thread, which others wait for.
            group.addTask(executorPreference: agreed == nil ? wire.executor : nil) {
                .reader(bytes: await self.read(from: wire, receiver, first))
            }
            group.addTask(executorPreference: wire.executor) {
                .writer(failed: await self.write(outbox, to: wire))
            }
            group.addTask {
                await self.keepTime(of: wire, outbox)
                return .clock
            }
            if let hook {
                group.addTask {
                    await self.prepare(opening, hook)
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
        return Course(ending: ending, bytesSent: Int64(outbox.bytesSent), bytesReceived: bytesReceived)
    }

    private func begin(_ opening: Opening, over wire: any ByteConnection) -> CurlewError? {
        state.withLock { state in
            state.machine = WebSocketStateMachine(clocks: options.clocks, at: .now)
            state.reconnection?.connectionOpened(at: .now)
            state.wire = wire
            state.outbox = opening.outbox
            state.lastOpening = opening
            state.lastEnding = nil
            (state.armed, state.alarm) = (nil, nil)
            return state.failure
        }
    }

    /// The reader's end is told to the writer, which sends the last frame: so the writer's is the end of all. Where it has failed
    /// the reader's is, which may find out why. Gives the bytes that the reader has read, where it has ended.
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

    /// Closing a connection with unread bytes resets it, and takes the last frame from the peer. So this direction ends first, and
    /// what still comes is thrown away, for as long as a closing may take.
    private func linger(on wire: any ByteConnection) async {
        await withTaskGroup { group in
            group.addTask {
                // TLS has no half-close here: then the peer's end is waited for without one.
                try? await wire.finishSending()
                while let bytes = try? await wire.receive(maximum: Self.readSize), !bytes.isEmpty {}
            }
            group.addTask { [limit = options.closeTimeout] in _ = await Pause.wait(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: Hook

    /// Verbs find the connection open from now on, unless it has ended: that is decided in the step that makes it known. The end may
    /// come right after, and those that have waited are told nevertheless: what is returned is for them. They find it closed and
    /// wait for the next.
    func handOver(_ opening: Opening) -> OpeningResult? {
        let known = OpeningResult()
        known.resolve(.success(opening))
        return state.withLock { state in
            guard state.machine?.isOpen == true else { return nil }
            return exchange(&state.opening, with: known)
        }
    }

    /// Others use the connection when the hook has done with it. One that throws while there is a connection ends everything.
    private func prepare(_ opening: Opening, _ hook: Hook) async {
        do {
            try await hook(opening)
            handOver(opening)?.resolve(.success(opening))
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

    /// Gives how many bytes it has read; those that came with the handshake count.
    private func read(from wire: any ByteConnection, _ receiver: WebSocketReceiver, _ first: [UInt8]) async -> Int64 {
        var receiver = receiver
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
                    perform(state.withLock { $0.machine?.violated(violation) ?? .none })
                    return total
                }
            }
            if hasEnded { return total }
            do throws(CurlewError) {
                guard let next = try await wire.receive(maximum: Self.readSize) else {
                    perform(state.withLock { $0.machine?.wireEnded(nil) ?? .none })
                    return total
                }
                bytes = next
                total += Int64(next.count)
            } catch {
                perform(state.withLock { $0.machine?.wireEnded(error) ?? .none })
                return total
            }
        }
    }

    private enum Taken {
        case all, full
        case broken(WebSocketViolation)
    }

    /// Takes what is behind `offset`, as long as there is room for messages.
    private func take(_ receiver: inout WebSocketReceiver, _ bytes: [UInt8], _ offset: inout Int) -> Taken {
        bytes.withUnsafeBytes { whole in
            var input = UnsafeRawBufferPointer(rebasing: whole[offset...])
            defer { offset = whole.count - input.count }
            do throws(WebSocketViolation) {
                while let event = try receiver.next(&input) {
                    let action = state.withLock { $0.machine?.received(event, at: .now) ?? .none }
                    if !perform(action) { return .full }
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

    /// What came before the peer broke the protocol is answered as if each message had come alone: the close frame goes out
    /// behind the answers of a user that is about them.
    private func untilAnswered() async {
        state.withLock { $0.machine?.readingPaused() }
        await withTaskGroup { group in
            group.addTask { _ = await Pause.wait(for: self.options.closeTimeout) }
            group.addTask { await self.inbox.untilRead() }
            await group.next()
            group.cancelAll()
        }
    }

    private var hasEnded: Bool { state.withLock { $0.machine?.ending != nil } }

    // MARK: Writer

    /// True where the connection took no more.
    private func write(_ outbox: WebSocketOutbox, to wire: any ByteConnection) async -> Bool {
        while let bytes = await outbox.next() {
            do throws(CurlewError) {
                try await write(bytes, of: outbox, to: wire)
            } catch {
                // Before its senders go on: they ask why. In one step, so that a hook that ends now hands over nothing.
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

    /// Piece by piece: how a large message gets on is seen from here.
    private func write(
        _ bytes: [UInt8], of outbox: WebSocketOutbox, to wire: any ByteConnection
    ) async throws(CurlewError) {
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Self.writeSize)
            // Most are one piece, which needs no copy.
            try await wire.send(end - start == bytes.count ? bytes : Array(bytes[start..<end]))
            let position = outbox.took(end - start)
            state.withLock { $0.machine?.wrote(from: position, at: .now) }
            start = end
        }
    }

    // MARK: Clock

    private func keepTime(of wire: any ByteConnection, _ outbox: WebSocketOutbox) async {
        while !Task.isCancelled {
            let (deadline, alarm, hasEnded) = state.withLock { state in
                let alarm = OneShot<Void>()
                state.alarm = alarm
                state.armed = state.machine?.nextDeadline
                return (state.armed, alarm, state.machine?.ending != nil)
            }
            if hasEnded { return await limitFlush(of: wire, outbox) }
            if let deadline {
                await withTaskGroup { group in
                    group.addTask { _ = await Pause.wait(until: deadline) }
                    group.addTask { await alarm.wait() }
                    await group.next()
                    group.cancelAll()
                }
            } else {
                await alarm.wait()
            }
            if Task.isCancelled { return }
            let position = outbox.bytesPutIn
            perform(state.withLock { $0.machine?.timePassed(at: .now, behind: position) ?? .none })
        }
    }

    /// A peer that takes no bytes does not get the last frame for ever.
    private func limitFlush(of wire: any ByteConnection, _ outbox: WebSocketOutbox) async {
        guard await Pause.wait(for: options.closeTimeout) else { return }
        outbox.abort()
        wire.close()
    }
}
