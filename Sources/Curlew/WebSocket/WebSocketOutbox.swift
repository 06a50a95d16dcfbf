internal import CurlewCore
internal import CurlewLocks

/// Frames on their way out, in the order in which they were made. One task writes them to the connection.
final class WebSocketOutbox: Sendable {
    fileprivate enum Stage {
        case open
        /// The last frame is in.
        case finished
        /// Nothing is sent any more.
        case aborted
    }

    fileprivate struct State: Sendable {
        var sender: WebSocketSender?
        var stage = Stage.open
        var isClosing = false
        var pending: [UInt8] = []
        /// Bytes that the connection has not taken.
        var leaving = 0
        // One call to the kernel for each frame: a key that could be guessed would protect no proxy (RFC 6455, 10.3).
        var random = SystemRandomNumberGenerator()
        /// Waited for by the writer.
        var work: OneShot<Void>?
        /// Waited for by those that send.
        var room: OneShot<Void>?

        var size: Int { pending.count + leaving }
    }

    private let state = Lock(State())
    private let limit: Int

    /// Pongs beyond this are left out: a peer that asks for them has to take them.
    private static let pongLimit = 1024 * 1024

    init(limit: Int) { self.limit = max(1, limit) }

    /// The connection is there.
    func open(_ sender: WebSocketSender) { state.withLock { $0.sender = sender } }

    // MARK: What goes out

    /// Puts a message in when there is room. False where the connection is closing or closed. Cancelling the waiting
    /// task leaves the message out.
    func send(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], isolation: isolated (any Actor)? = #isolation
    ) async throws(CurlewError) -> Bool {
        while true {
            let (isTaken, work, room) = state.withLock { state -> (Bool?, OneShot<Void>?, OneShot<Void>?) in
                guard state.stage == .open, !state.isClosing else { return (false, nil, nil) }
                guard state.size == 0 || state.size < limit else {
                    let room = state.room ?? OneShot<Void>()
                    state.room = room
                    return (nil, nil, room)
                }
                state.append(opcode, payload)
                return (true, exchange(&state.work, with: nil), nil)
            }
            work?.resolve(())
            if let isTaken { return isTaken }
            guard await room?.wait() != nil else {
                throw CurlewError(.cancelled, phase: .send, reason: "the sending task was cancelled")
            }
        }
    }

    /// Puts a control frame in, which waits for no room. Behind a close frame nothing follows.
    func control(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        let work = state.withLock { state -> OneShot<Void>? in
            guard state.stage == .open, !state.isClosing else { return nil }
            if opcode == .pong, state.size > Self.pongLimit + limit { return nil }
            if opcode == .close { state.isClosing = true }
            state.append(opcode, payload)
            return exchange(&state.work, with: nil)
        }
        work?.resolve(())
    }

    /// The last frame, if there is one, goes in, and the writer is done when all is out.
    func finish(last: [UInt8]?) {
        if let last { control(.close, last) }
        end(as: .finished)
    }

    /// What waits is thrown away.
    func abort() { end(as: .aborted) }

    private func end(as stage: Stage) {
        let (work, room) = state.withLock { state -> (OneShot<Void>?, OneShot<Void>?) in
            if state.stage != .aborted { state.stage = stage }
            if state.stage == .aborted { state.pending = [] }
            return (exchange(&state.work, with: nil), exchange(&state.room, with: nil))
        }
        work?.resolve(())
        room?.resolve(())
    }

    // MARK: The writer

    /// Everything that waits, nil where nothing follows. What it gave before has been taken by the connection.
    func next(isolation: isolated (any Actor)? = #isolation) async -> [UInt8]? {
        while true {
            let (bytes, work, room) = state.withLock { state -> ([UInt8]?, OneShot<Void>?, OneShot<Void>?) in
                state.leaving = 0
                let room = state.pending.count < limit ? exchange(&state.room, with: nil) : nil
                if !state.pending.isEmpty {
                    state.leaving = state.pending.count
                    return (exchange(&state.pending, with: []), nil, room)
                }
                guard state.stage == .open else { return (nil, nil, room) }
                let work = OneShot<Void>()
                state.work = work
                return (nil, work, room)
            }
            room?.resolve(())
            guard let work else { return bytes }
            guard await work.wait() != nil else { return nil }
        }
    }
}

extension WebSocketOutbox.State {
    fileprivate mutating func append(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        let key = WebSocketMaskKey(bits: random.next())
        payload.withUnsafeBytes { sender?.append(opcode, $0, key: key, to: &pending) }
    }
}
