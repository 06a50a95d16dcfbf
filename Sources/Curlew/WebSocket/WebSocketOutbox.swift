internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// The outgoing frames of one connection, in order. One task, the writer, writes them to the connection. A frame that
/// the peer waits for is written on its sender's thread, if the writer is idle.
final class WebSocketOutbox: Sendable {
    fileprivate enum Stage {
        case open
        /// The close frame has been queued, and no frame follows it. The peer's close frame is awaited.
        case closing
        /// The writer ends after the last frame.
        case finished
        /// Nothing more is sent.
        case aborted
    }

    fileprivate struct State: Sendable {
        var sender: WebSocketSender?
        var stage = Stage.open
        var pending: [UInt8] = []
        /// The number of bytes that are being written, and that the connection has not taken.
        var inFlight = 0
        /// The number of bytes that the connection has taken.
        var sentCount = 0
        var keys = MaskKeys()
        /// The writer waits here for work.
        var work: OneShot<Void>?
        /// `nil` before the connection is open, and after `finish` or `abort`.
        var wire: (any ByteConnection)?
        /// Senders wait here for room.
        var room: OneShot<Void>?

        var size: Int { pending.count + inFlight }

        /// Whether the writer waits for work when nothing is queued.
        var needsWriter: Bool {
            switch stage {
            case .open, .closing: true
            case .finished, .aborted: false
            }
        }
    }

    private let state = Lock(State())
    private let limit: Int

    /// Pongs are dropped while the queue exceeds its limit by more than this: a peer that sends pings has to read the
    /// pongs.
    private static let pongLimit = 1024 * 1024

    init(limit: Int) { self.limit = max(1, limit) }

    /// The number of bytes that the connection has not taken.
    var bytesWaiting: Int { state.withLock { $0.size } }

    /// The number of bytes queued so far: those that the connection has taken and those that wait.
    var bytesQueued: Int { state.withLock { $0.sentCount + $0.size } }

    /// The number of bytes that the connection has taken.
    var bytesSent: Int { state.withLock { $0.sentCount } }

    /// Whether the writer has nothing to write.
    var isWriterWaiting: Bool { state.withLock { $0.work != nil } }

    /// Starts sending over a connection.
    func open(_ sender: WebSocketSender, over wire: any ByteConnection) {
        state.withLock { ($0.sender, $0.wire) = (sender, wire) }
    }

    // MARK: Senders

    /// Queues a message if there is room. Returns `false` if there is none, or if the connection is closing or closed.
    /// If `peerWaits` for the message, it is written on the caller's thread, provided that the writer is idle.
    func trySend(_ message: WebSocketMessage, peerWaits: Bool) -> Bool {
        carryOut(put(message, peerWaits: peerWaits)) ?? false
    }

    /// Waits for room and queues a message. Returns `false` if the connection is closing or closed. Cancelling the
    /// waiting task drops the message.
    func send(
        _ message: WebSocketMessage
    ) async throws(CurlewError) -> Bool {
        while true {
            let step = put(message, peerWaits: false)
            if let isTaken = carryOut(step) { return isTaken }
            guard case .wait(let room) = step, await room.wait() != nil else {
                throw CurlewError(.cancelled, phase: .send, reason: "the sending task was cancelled")
            }
        }
    }

    private func put(_ message: WebSocketMessage, peerWaits: Bool) -> Step {
        state.withLock { state in
            guard state.stage == .open else { return .refused }
            guard state.size == 0 || state.size < limit else { return .wait(state.nextRoom()) }
            state.append(message)
            return state.appended(peerWaits: peerWaits)
        }
    }

    /// Queues a control frame without waiting for room. No frame follows a close frame.
    func control(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        let step = state.withLock { state -> Step in
            guard state.stage == .open else { return .refused }
            if opcode == .pong, state.size - Self.pongLimit > limit { return .refused }
            if opcode == .close { state.stage = .closing }
            payload.withUnsafeBytes { state.append(opcode, $0) }
            return state.appended(peerWaits: true)
        }
        _ = carryOut(step)
    }

    /// The outcome of queueing a frame, and the caller's next step.
    fileprivate enum Step {
        case refused
        case wait(OneShot<Void>)
        /// The frame is queued. The waiter is the writer's, if it waits for work.
        case queued(OneShot<Void>?)
        case write(Direct)
    }

    /// Bytes for the caller to write, while the writer keeps waiting.
    fileprivate struct Direct {
        let bytes: [UInt8]
        let wire: any ByteConnection
        let work: OneShot<Void>
    }

    /// Returns whether the frame was accepted; `nil` if it has to wait.
    private func carryOut(_ step: Step) -> Bool? {
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

    /// Queues the close frame, unless it has been queued. The writer ends after everything queued has been written.
    func finish(last: [UInt8]) {
        control(.close, last)
        end(as: .finished)
    }

    /// Ends the writer, and drops all queued bytes.
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
        // The connection is released outside the lock.
        _ = wire
    }

    // MARK: The writer

    /// Counts bytes returned by `next` that the connection has taken. Returns the number of bytes taken before them.
    func recordSent(_ count: Int) -> Int {
        state.withLock { state in
            defer { state.recordSent(count) }
            return state.sentCount
        }
    }

    /// Returns all queued bytes; `nil` at the end. A call implies that the connection has taken the bytes returned
    /// before.
    func next() async -> [UInt8]? {
        while true {
            let (bytes, work, room) = state.withLock { state -> ([UInt8]?, OneShot<Void>?, OneShot<Void>?) in
                state.recordSent(state.inFlight)
                let room = state.pending.count < limit ? exchange(&state.room, with: nil) : nil
                if !state.pending.isEmpty {
                    state.inFlight = state.pending.count
                    return (exchange(&state.pending, with: []), nil, room)
                }
                guard state.needsWriter else { return (nil, nil, room) }
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

    /// Decides which side writes the queued bytes: the caller, if the peer waits for them and the writer is idle;
    /// otherwise the writer.
    fileprivate mutating func appended(peerWaits: Bool) -> WebSocketOutbox.Step {
        // An idle writer has written everything queued before, so the order is kept.
        let work = exchange(&work, with: nil)
        guard peerWaits, let work, let wire else { return .queued(work) }
        inFlight = pending.count
        return .write(WebSocketOutbox.Direct(bytes: exchange(&pending, with: []), wire: wire, work: work))
    }

    fileprivate mutating func recordSent(_ count: Int) {
        sentCount += count
        inFlight -= count
    }

    /// Counts the bytes that the connection has taken, and queues the rest again. Returns the waiters to resolve: the
    /// writer's, if it has work or must end, and the senders', if there is room.
    fileprivate mutating func wrote(
        _ direct: WebSocketOutbox.Direct, _ count: Int, below limit: Int
    ) -> (work: OneShot<Void>?, room: OneShot<Void>?) {
        (sentCount, inFlight) = (sentCount + count, 0)
        if stage != .aborted, count < direct.bytes.count { pending.insert(contentsOf: direct.bytes[count...], at: 0) }
        let room = pending.count < limit ? exchange(&room, with: nil) : nil
        guard pending.isEmpty, needsWriter else { return (direct.work, room) }
        work = direct.work
        return (nil, room)
    }

    fileprivate mutating func nextRoom() -> OneShot<Void> {
        let next = room ?? OneShot<Void>()
        room = next
        return next
    }
}

/// Masking keys from the kernel's random numbers, read in batches. A guessable key would not protect proxies (RFC 6455,
/// 10.3).
struct MaskKeys: Sendable {
    private var bits: [UInt32] = []

    /// getentropy(3) returns at most 256 bytes at a time.
    private static let count = 64

    mutating func next() -> WebSocketMaskKey {
        if bits.isEmpty { refill() }
        return WebSocketMaskKey(bits: bits.removeLast())
    }

    private mutating func refill() {
        bits = [UInt32](unsafeUninitializedCapacity: Self.count) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            count = getentropy(bytes.baseAddress, bytes.count) == 0 ? buffer.count : 0
        }
        guard bits.isEmpty else { return }
        var random = SystemRandomNumberGenerator()
        bits = [random.next()]
    }
}
