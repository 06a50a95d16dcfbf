internal import CurlewCore
internal import CurlewLocks

/// Received messages that have not been read. The connection's reader waits while they exceed the limit.
final class WebSocketInbox: Sendable {
    fileprivate enum Stage: Sendable {
        case open
        /// No more messages are delivered, because this side closes the WebSocket. Those that have arrived can be read.
        case closing
        /// Nothing reads messages, so they are dropped.
        case left
        /// The error is thrown once, after the last message; after that it is `nil`.
        case ended(CurlewError?)
    }

    fileprivate struct State: Sendable {
        var stage = Stage.open
        var messages: [WebSocketMessage] = []
        var first = 0
        var cost = 0
        /// The user waits here for a message.
        var arrival: OneShot<Void>?
        /// The connection's reader waits here.
        var hold: Hold?
        /// Whether the user has taken a message and has not asked for the next one yet.
        var isAnswering = false
        /// Whether a message has been taken and nothing has been sent since.
        var owesAnswer = false

        var isOpen: Bool { if case .open = stage { true } else { false } }
    }

    /// What the connection's reader, a single task, waits for. It waits for nothing once the stage is not `open`.
    fileprivate enum Hold: Sendable {
        case room(OneShot<Void>)
        /// The user is done with all messages.
        case answers(OneShot<Void>)

        func end() {
            switch self {
            case .room(let waiter), .answers(let waiter): waiter.resolve(())
            }
        }
    }

    private let state = Lock(State())
    private let limit: Int
    /// The capacity that stays allocated when all messages have been read.
    fileprivate static let keptCapacity = 256

    init(limit: Int) { self.limit = max(1, limit) }

    // MARK: The connection's reader

    /// Adds a message. Returns whether there is room for another one.
    func put(_ message: WebSocketMessage) -> Bool {
        let (arrival, hasRoom) = state.withLock { state -> (OneShot<Void>?, Bool) in
            switch state.stage {
            case .open, .closing: break
            case .left, .ended: return (nil, true)
            }
            state.messages.append(message)
            state.cost += Self.cost(of: message)
            return (exchange(&state.arrival, with: nil), state.cost < limit)
        }
        arrival?.resolve(())
        return hasRoom
    }

    /// Returns when there is room for another message, or when the waiting task is cancelled. `hasEnded` is called
    /// after the waiter has been stored, so an end in between is not missed: either `hasEnded` sees it, or `interrupt`
    /// finds the waiter.
    func untilRoom(unless hasEnded: () -> Bool) async {
        let room = state.withLock { state -> OneShot<Void>? in
            guard state.cost >= limit, state.isOpen else { return nil }
            let room = OneShot<Void>()
            state.hold = .room(room)
            return room
        }
        if let room, !hasEnded() { await room.wait() }
    }

    /// Returns when the user has read all received messages and asks for another, when nothing reads them, or when the
    /// waiting task is cancelled.
    func untilRead() async {
        let answers = state.withLock { state -> OneShot<Void>? in
            guard state.first < state.messages.count || state.isAnswering, state.isOpen else { return nil }
            let answers = OneShot<Void>()
            state.hold = .answers(answers)
            return answers
        }
        await answers?.wait()
    }

    /// Ends the stream. Received messages can still be read; then the reader gets `error` or the end.
    func finish(throwing error: CurlewError?) {
        let (arrival, hold) = state.withLock { state -> (OneShot<Void>?, Hold?) in
            if case .ended = state.stage { return (nil, nil) }
            state.stage = .ended(error)
            return (exchange(&state.arrival, with: nil), exchange(&state.hold, with: nil))
        }
        arrival?.resolve(())
        hold?.end()
    }

    // MARK: The user

    /// The next message, if one has been received and the task has not been cancelled.
    func nextNow() -> WebSocketMessage? {
        guard !Task.isCancelled else { return nil }
        let (message, hold) = state.withLock { $0.takeMessage(below: limit) }
        hold?.end()
        return message
    }

    /// The next message; `nil` at the end.
    func next() async throws(CurlewError) -> WebSocketMessage? {
        while true {
            // If the peer sends without a pause, a cancelled reader never has to wait, and only this check ends it.
            if Task.isCancelled, hasMessages { throw Self.readerCancelled }
            let (taken, hold) = state.withLock { $0.takeNext(below: limit) }
            hold?.end()
            switch taken {
            case .message(let message): return message
            case .end(let error?): throw error
            case .end(nil): return nil
            case .wait(let arrival): guard await arrival.wait() != nil else { throw Self.readerCancelled }
            }
        }
    }

    private var hasMessages: Bool { state.withLock { $0.first < $0.messages.count } }

    /// Whether a message sent at this moment answers the last received one: the peer waits for it, and no other message
    /// is to be answered first. True once per message.
    func takeTurn() -> Bool {
        state.withLock { state in
            guard state.owesAnswer, state.first == state.messages.count else { return false }
            state.owesAnswer = false
            return true
        }
    }

    /// Lets the connection's reader continue, because the state machine delivers no more messages.
    func stopHolding() {
        let hold = state.withLock { state in
            if state.isOpen { state.stage = .closing }
            return exchange(&state.hold, with: nil)
        }
        hold?.end()
    }

    /// Lets the connection's reader continue, because the connection has ended.
    func interrupt() { state.withLock { exchange(&$0.hold, with: nil) }?.end() }

    /// Drops received and later messages, because nothing will read them.
    func leave() {
        let hold = state.withLock { state in
            switch state.stage {
            case .open, .closing: state.stage = .left
            case .left, .ended: break
            }
            state.messages = []
            state.first = 0
            state.cost = 0
            return exchange(&state.hold, with: nil)
        }
        hold?.end()
    }

    /// A message costs more memory than its bytes: a peer that sends empty ones must reach the limit too.
    fileprivate static func cost(of message: WebSocketMessage) -> Int {
        switch message {
        case .text(let text): text.utf8.count + 64
        case .data(let data): data.count + 64
        }
    }

    private static let readerCancelled = CurlewError(
        .cancelled, phase: .receive, reason: "the reading task was cancelled")
}

extension WebSocketInbox.State {
    /// What a reader of messages gets.
    fileprivate enum Taken {
        case message(WebSocketMessage)
        case end(CurlewError?)
        case wait(OneShot<Void>)
    }

    /// Returns the next message, the end, or the wait for either, and the hold that the caller has to end.
    fileprivate mutating func takeNext(below limit: Int) -> (Taken, WebSocketInbox.Hold?) {
        let (message, room) = takeMessage(below: limit)
        if let message { return (.message(message), room) }
        isAnswering = false
        switch stage {
        case .ended(let error):
            stage = .ended(nil)
            return (.end(error), nil)
        case .left: return (.end(nil), nil)
        case .open, .closing:
            let waiter = arrival ?? OneShot<Void>()
            arrival = waiter
            guard case .answers? = hold else { return (.wait(waiter), nil) }
            return (.wait(waiter), exchange(&hold, with: nil))
        }
    }

    /// Returns the next message, if one has arrived, and the hold that the caller has to end.
    fileprivate mutating func takeMessage(below limit: Int) -> (WebSocketMessage?, WebSocketInbox.Hold?) {
        guard first < messages.count else { return (nil, nil) }
        (isAnswering, owesAnswer) = (true, true)
        let message = messages[first]
        messages[first] = .text("")
        first += 1
        cost -= WebSocketInbox.cost(of: message)
        if first == messages.count {
            messages.removeAll(keepingCapacity: messages.capacity <= WebSocketInbox.keptCapacity)
            first = 0
        } else if first >= 64, first * 2 >= messages.count {
            messages.removeFirst(first)
            first = 0
        }
        // The connection's reader is woken once the inbox is half empty, and not for every message.
        guard cost <= limit / 2, case .room? = hold else { return (message, nil) }
        return (message, exchange(&hold, with: nil))
    }
}
