internal import CurlewCore
internal import CurlewLocks

/// Received messages that have not been read. The connection's reader waits while they exceed the limit.
final class WebSocketInbox: Sendable {
    fileprivate struct State: Sendable {
        var messages: [WebSocketMessage] = []
        var first = 0
        var cost = 0
        var end: Result<Void, CurlewError>?
        var isLeft = false
        /// Whether the connection's reader need not wait for room, because the state machine delivers no more messages.
        var takesEverything = false
        /// The user waits here for a message.
        var arrival: OneShot<Void>?
        /// The connection's reader waits here for room.
        var room: OneShot<Void>?
        /// Whether the user has taken a message and has not asked for the next one yet.
        var isAnswering = false
        /// Whether a message has been taken and nothing has been sent since.
        var owesAnswer = false
        /// The connection's reader waits here until the user is done with all messages.
        var rest: OneShot<Void>?

        /// Whether the user may still answer received messages.
        var isBeingRead: Bool {
            (first < messages.count || isAnswering) && end == nil && !isLeft && !takesEverything
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
            guard state.end == nil, !state.isLeft else { return (nil, true) }
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
            guard state.cost >= limit, state.end == nil, !state.isLeft, !state.takesEverything else { return nil }
            let room = OneShot<Void>()
            state.room = room
            return room
        }
        if let room, !hasEnded() { await room.wait() }
    }

    /// Returns when the user has read all received messages and asks for another, when nothing reads them, or when the
    /// waiting task is cancelled.
    func untilRead() async {
        let rest = state.withLock { state -> OneShot<Void>? in
            guard state.isBeingRead else { return nil }
            let rest = OneShot<Void>()
            state.rest = rest
            return rest
        }
        await rest?.wait()
    }

    /// Ends the stream. Received messages can still be read; then the reader gets `error` or the end.
    func finish(throwing error: CurlewError?) {
        let waiting = state.withLock { state -> [OneShot<Void>?] in
            guard state.end == nil else { return [] }
            state.end = error.map { .failure($0) } ?? .success(())
            return [exchange(&state.arrival, with: nil)] + state.takeWaiting()
        }
        for one in waiting { one?.resolve(()) }
    }

    // MARK: The user

    /// The next message, if one has been received and the task has not been cancelled.
    func nextNow() -> WebSocketMessage? {
        guard !Task.isCancelled else { return nil }
        let taken = state.withLock {
            $0.first < $0.messages.count ? $0.take(below: limit) : WebSocketInbox.State.Taken()
        }
        taken.room?.resolve(())
        taken.rest?.resolve(())
        return taken.message
    }

    /// The next message; `nil` at the end.
    func next() async throws(CurlewError) -> WebSocketMessage? {
        while true {
            // If the peer sends without a pause, a cancelled reader never has to wait, and only this check ends it.
            if Task.isCancelled, hasMessages { throw Self.readerCancelled }
            let taken = state.withLock { $0.take(below: limit) }
            taken.room?.resolve(())
            taken.rest?.resolve(())
            if let message = taken.message { return message }
            if let end = taken.end {
                try end.get()
                return nil
            }
            guard await taken.arrival?.wait() != nil else { throw Self.readerCancelled }
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
        let waiting = state.withLock { state in
            state.takesEverything = true
            return state.takeWaiting()
        }
        for one in waiting { one?.resolve(()) }
    }

    /// Lets the connection's reader continue, because the connection has ended.
    func interrupt() {
        let waiting = state.withLock { $0.takeWaiting() }
        for one in waiting { one?.resolve(()) }
    }

    /// Drops received and later messages, because nothing will read them.
    func leave() {
        let waiting = state.withLock { state in
            state.isLeft = true
            state.messages = []
            state.first = 0
            state.cost = 0
            return state.takeWaiting()
        }
        for one in waiting { one?.resolve(()) }
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
    fileprivate struct Taken: Sendable {
        var message: WebSocketMessage?
        var end: Result<Void, CurlewError>?
        var arrival: OneShot<Void>?
        var room: OneShot<Void>?
        var rest: OneShot<Void>?
    }

    /// Removes and returns the waiters of the connection's reader.
    fileprivate mutating func takeWaiting() -> [OneShot<Void>?] {
        [exchange(&room, with: nil), exchange(&rest, with: nil)]
    }

    fileprivate mutating func take(below limit: Int) -> Taken {
        guard first < messages.count else {
            isAnswering = false
            // The error is thrown once; after that the stream has ended.
            if let end {
                self.end = .success(())
                return Taken(end: end)
            }
            if isLeft { return Taken(end: .success(())) }
            let waited = arrival ?? OneShot<Void>()
            arrival = waited
            return Taken(arrival: waited, rest: exchange(&rest, with: nil))
        }
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
        return Taken(message: message, room: cost <= limit / 2 ? exchange(&room, with: nil) : nil)
    }
}
