internal import CurlewCore
internal import CurlewLocks

// One task reads, one writes, one keeps the time. They end together.
extension WebSocketLink {
    private enum Part { case reader, writer, clock }

    private static let readSize = 64 * 1024

    /// Runs the open WebSocket over its connection, until it has ended. `first` are bytes that came with the handshake.
    func run(over wire: any ByteConnection, _ opening: Opening, first: [UInt8]) async -> WebSocketEnding {
        let agreed = opening.agreement.compression
        let receiver = WebSocketReceiver(
            sender: .server, limits: WebSocketLimits(message: options.maximumMessageSize),
            decompressor: agreed.map { MessageDecompressor($0, sender: .server) })
        outbox.open(
            WebSocketSender(role: .client, compressor: agreed.map { MessageCompressor($0, role: .client) }))
        let failure = state.withLock { state in
            state.machine = WebSocketStateMachine(clocks: options.clocks, at: .now)
            state.wire = wire
            return state.failure
        }
        // Cancelled meanwhile.
        if let failure { stop(with: failure) }
        self.opening.resolve(.success(opening))
        await withTaskGroup(of: Part.self) { group in
            group.addTask {
                await self.read(from: wire, receiver, first)
                return .reader
            }
            group.addTask {
                await self.write(to: wire)
                return .writer
            }
            group.addTask {
                await self.keepTime(of: wire)
                return .clock
            }
            // The reader's end is told to the writer, which sends the last frame; so the writer's is the end of all.
            while let part = await group.next(), part != .writer {}
            wire.close()
            group.cancelAll()
        }
        return state.withLock { state in
            state.wire = nil
            return state.machine?.ending ?? .cut
        }
    }

    // MARK: Reader

    private func read(from wire: any ByteConnection, _ receiver: WebSocketReceiver, _ first: [UInt8]) async {
        var receiver = receiver
        var bytes = first
        while true {
            var offset = 0
            while take(&receiver, bytes, &offset) == .full { await untilRoom() }
            if ending != nil { return }
            do throws(CurlewError) {
                guard let next = try await wire.receive(maximum: Self.readSize) else {
                    perform(state.withLock { $0.machine?.wireEnded(nil) ?? .none })
                    return
                }
                bytes = next
            } catch {
                perform(state.withLock { $0.machine?.wireEnded(error) ?? .none })
                return
            }
        }
    }

    private enum Taken { case all, full }

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
                perform(state.withLock { $0.machine?.violated(error) ?? .none })
            }
            return .all
        }
    }

    private func untilRoom() async {
        state.withLock { $0.machine?.readingPaused() }
        await inbox.untilRoom()
        let alarm = state.withLock { state in
            state.machine?.readingResumed(at: .now)
            return state.earlierDeadline()
        }
        alarm?.resolve(())
    }

    // MARK: Writer

    private func write(to wire: any ByteConnection) async {
        while let bytes = await outbox.next() {
            do throws(CurlewError) {
                try await wire.send(bytes)
            } catch {
                // What the peer has sent before may say why: the reader finds the end by itself.
                perform(state.withLock { $0.machine?.wireEnded(error) ?? .none })
                return
            }
        }
    }

    // MARK: Clock

    private func keepTime(of wire: any ByteConnection) async {
        while !Task.isCancelled {
            let (deadline, alarm, hasEnded) = state.withLock { state in
                let alarm = OneShot<Void>()
                state.alarm = alarm
                state.armed = state.machine?.nextDeadline
                return (state.armed, alarm, state.machine?.ending != nil)
            }
            if hasEnded { return await limitFlush(of: wire) }
            if let deadline {
                await withTaskGroup { group in
                    group.addTask { try? await Task.sleep(until: deadline, clock: .continuous) }
                    group.addTask { await alarm.wait() }
                    await group.next()
                    group.cancelAll()
                }
            } else {
                await alarm.wait()
            }
            if Task.isCancelled { return }
            perform(state.withLock { $0.machine?.timePassed(at: .now) ?? .none })
        }
    }

    /// A peer that takes no bytes does not get the last frame for ever.
    private func limitFlush(of wire: any ByteConnection) async {
        guard (try? await Task.sleep(for: options.closeTimeout)) != nil else { return }
        outbox.abort()
        wire.close()
    }
}
