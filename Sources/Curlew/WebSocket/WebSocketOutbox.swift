internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Frames on their way out, in the order in which they were made. One task writes them to the connection; a frame that its peer waits
/// for goes out on its sender's thread, where the connection can do that and nothing is before it.
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
        /// Bytes that it has taken.
        var gone = 0
        var keys = MaskKeys()
        /// Waited for by the writer.
        var work: OneShot<Void>?
        /// nil before the connection is there, and when nothing follows.
        var wire: (any ByteConnection)?
        /// Waited for by those that send.
        var room: OneShot<Void>?

        var size: Int { pending.count + leaving }
    }

    private let state = Lock(State())
    private let limit: Int

    /// Pongs beyond this are left out: a peer that asks for them has to take them.
    private static let pongLimit = 1024 * 1024

    init(limit: Int) { self.limit = max(1, limit) }

    /// Bytes that are not out yet.
    var bytesWaiting: Int { state.withLock { $0.size } }

    /// Bytes that were put in: those that are out and those that wait.
    var bytesPutIn: Int { state.withLock { $0.gone + $0.size } }

    /// Bytes that the connection has taken.
    var bytesSent: Int { state.withLock { $0.gone } }

    /// Whether the writer has nothing to write.
    var isWriterWaiting: Bool { state.withLock { $0.work != nil } }

    /// The connection is there.
    func open(_ sender: WebSocketSender, over wire: any ByteConnection) {
        state.withLock { ($0.sender, $0.wire) = (sender, wire) }
    }

    // MARK: What goes out

    /// Puts a message in where there is room. `atOnce`: its peer waits for it.
    func sendNow(_ message: WebSocketMessage, atOnce: Bool) -> Bool { perform(put(message, atOnce: atOnce)) ?? false }

    /// Puts a message in when there is room. False where the connection is closing or closed. Cancelling the waiting
    /// task leaves the message out.
    func send(
        _ message: WebSocketMessage, isolation: isolated (any Actor)? = #isolation
    ) async throws(CurlewError) -> Bool {
        while true {
            let step = put(message, atOnce: false)
            if let isTaken = perform(step) { return isTaken }
            guard case .wait(let room) = step, await room.wait() != nil else {
                throw CurlewError(.cancelled, phase: .send, reason: "the sending task was cancelled")
            }
        }
    }

    private func put(_ message: WebSocketMessage, atOnce: Bool) -> Step {
        state.withLock { state in
            guard state.stage == .open, !state.isClosing else { return .refused }
            guard state.size == 0 || state.size < limit else { return .wait(state.nextRoom()) }
            state.append(message)
            return state.appended(atOnce: atOnce)
        }
    }

    /// Puts a control frame in, which waits for no room. Behind a close frame nothing follows.
    func control(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        let step = state.withLock { state -> Step in
            guard state.stage == .open, !state.isClosing else { return .refused }
            if opcode == .pong, state.size - Self.pongLimit > limit { return .refused }
            if opcode == .close { state.isClosing = true }
            payload.withUnsafeBytes { state.append(opcode, $0) }
            return state.appended(atOnce: true)
        }
        _ = perform(step)
    }

    /// What is to be done about a frame.
    fileprivate enum Step {
        case refused
        case wait(OneShot<Void>)
        /// It is in; the writer may have waited for it.
        case queued(OneShot<Void>?)
        case write(Direct)
    }

    /// Bytes that go out past the writer, which stays where it waits.
    fileprivate struct Direct {
        let bytes: [UInt8]
        let wire: any ByteConnection
        let work: OneShot<Void>
    }

    /// Whether the frame was taken, nil where it has to wait.
    private func perform(_ step: Step) -> Bool? {
        switch step {
        case .refused: return false
        case .wait: return nil
        case .queued(let work): work?.resolve(())
        case .write(let direct): write(direct)
        }
        return true
    }

    private func write(_ direct: Direct) {
        let count = direct.bytes.withUnsafeBytes { direct.wire.sendNow($0) }
        let (work, room) = state.withLock { $0.wrote(direct, count, below: limit) }
        work?.resolve(())
        room?.resolve(())
    }

    /// The last frame, if there is one, goes in, and the writer is done when all is out.
    func finish(last: [UInt8]?) {
        if let last { control(.close, last) }
        end(as: .finished)
    }

    /// What waits is thrown away.
    func abort() { end(as: .aborted) }

    private func end(as stage: Stage) {
        let (work, room, wire) = state.withLock { state -> (OneShot<Void>?, OneShot<Void>?, (any ByteConnection)?) in
            if state.stage != .aborted { state.stage = stage }
            if state.stage == .aborted { state.pending = [] }
            return (
                exchange(&state.work, with: nil), exchange(&state.room, with: nil), exchange(&state.wire, with: nil)
            )
        }
        work?.resolve(())
        room?.resolve(())
        // Nothing may be released under a lock.
        _ = wire
    }

    // MARK: The writer

    /// The connection has taken so many of the bytes that `next` gave. Gives how many were put in before them.
    func took(_ count: Int) -> Int {
        state.withLock { state in
            defer { state.took(count) }
            return state.gone
        }
    }

    /// Everything that waits, nil where nothing follows. What it gave before has been taken by the connection.
    func next(isolation: isolated (any Actor)? = #isolation) async -> [UInt8]? {
        while true {
            let (bytes, work, room) = state.withLock { state -> ([UInt8]?, OneShot<Void>?, OneShot<Void>?) in
                state.took(state.leaving)
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
    fileprivate mutating func append(_ message: WebSocketMessage) {
        switch message {
        case .text(var text): text.withUTF8 { append(.text, UnsafeRawBufferPointer($0)) }
        case .data(let data): data.withUnsafeBytes { append(.binary, $0) }
        }
    }

    fileprivate mutating func append(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) {
        sender?.append(opcode, payload, key: keys.next(), to: &pending)
    }

    /// Who writes what was put in: the writer where it is about to, or where nothing waits for it; otherwise the caller.
    fileprivate mutating func appended(atOnce: Bool) -> WebSocketOutbox.Step {
        // A writer that waits has written everything before.
        let work = exchange(&work, with: nil)
        guard atOnce, let work, let wire else { return .queued(work) }
        leaving = pending.count
        return .write(WebSocketOutbox.Direct(bytes: exchange(&pending, with: []), wire: wire, work: work))
    }

    fileprivate mutating func took(_ count: Int) {
        gone += count
        leaving -= count
    }

    /// The connection has taken `count` bytes. Gives whom there is something for: the writer, and those that wait for room.
    fileprivate mutating func wrote(
        _ direct: WebSocketOutbox.Direct, _ count: Int, below limit: Int
    ) -> (work: OneShot<Void>?, room: OneShot<Void>?) {
        (gone, leaving) = (gone + count, 0)
        if stage != .aborted, count < direct.bytes.count { pending.insert(contentsOf: direct.bytes[count...], at: 0) }
        let room = pending.count < limit ? exchange(&room, with: nil) : nil
        guard pending.isEmpty, stage == .open else { return (direct.work, room) }
        work = direct.work
        return (nil, room)
    }

    fileprivate mutating func nextRoom() -> OneShot<Void> {
        let next = room ?? OneShot<Void>()
        room = next
        return next
    }
}
