internal import CurlewCore
internal import CurlewLocks

/// Messages that have come and were not read. The reader of the connection waits while there are too many.
final class WebSocketInbox: Sendable {
    fileprivate struct State: Sendable {
        var messages: [WebSocketMessage] = []
        var first = 0
        var cost = 0
        var end: Result<Void, CurlewError>?
        var isLeft = false
        /// Nothing is put in any more, so there is nothing to wait for.
        var takesEverything = false
        /// Waited for by the user.
        var arrival: OneShot<Void>?
        /// Waited for by the reader of the connection.
        var room: OneShot<Void>?
        /// The user has the last message that was taken, and has not asked for the next one.
        var isAnswering = false
        /// A message was taken, and nothing was sent since.
        var owesAnswer = false
        /// Waited for by the reader of the connection: the user is done with all messages.
        var rest: OneShot<Void>?

        /// Whether the user may still answer what has come.
        var isBeingRead: Bool {
            (first < messages.count || isAnswering) && end == nil && !isLeft && !takesEverything
        }
    }

    private let state = Lock(State())
    private let limit: Int
    /// So much room stays when all is read.
    fileprivate static let keptCapacity = 256

    init(limit: Int) { self.limit = max(1, limit) }

    // MARK: The connection's reader

    /// Whether there is room for another message.
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

    /// Returns when another message may come, at once where it may, or when the waiting task is cancelled. `hasEnded` is asked when
    /// `interrupt` already finds who waits here: an end that comes in between is not missed.
    func untilRoom(unless hasEnded: () -> Bool) async {
        let room = state.withLock { state -> OneShot<Void>? in
            guard state.cost >= limit, state.end == nil, !state.isLeft, !state.takesEverything else { return nil }
            let room = OneShot<Void>()
            state.room = room
            return room
        }
        if let room, !hasEnded() { await room.wait() }
    }

    /// Returns when the user asks for a message behind those that have come, or when nothing reads them; or when the waiting
    /// task is cancelled.
    func untilRead() async {
        let rest = state.withLock { state -> OneShot<Void>? in
            guard state.isBeingRead else { return nil }
            let rest = OneShot<Void>()
            state.rest = rest
            return rest
        }
        await rest?.wait()
    }

    /// No message will come. Those that have come can still be read; then the reader gets `error` or the end.
    func finish(throwing error: CurlewError?) {
        let waiting = state.withLock { state -> [OneShot<Void>?] in
            guard state.end == nil else { return [] }
            state.end = error.map { .failure($0) } ?? .success(())
            return [exchange(&state.arrival, with: nil)] + state.takeWaiting()
        }
        for one in waiting { one?.resolve(()) }
    }

    // MARK: The user

    /// The next message where it has come and the task was not cancelled.
    func nextNow() -> WebSocketMessage? {
        guard !Task.isCancelled else { return nil }
        let taken = state.withLock {
            $0.first < $0.messages.count ? $0.take(below: limit) : WebSocketInbox.State.Taken()
        }
        taken.room?.resolve(())
        taken.rest?.resolve(())
        return taken.message
    }

    /// The next message, nil at the end.
    func next(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> WebSocketMessage? {
        while true {
            // A peer that sends without a pause would keep a cancelled reader for ever.
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

    /// Whether what the user sends now answers the last message that has come: the peer waits for it, and there is no other to
    /// answer first. True once for a message.
    func takeTurn() -> Bool {
        state.withLock { state in
            guard state.owesAnswer, state.first == state.messages.count else { return false }
            state.owesAnswer = false
            return true
        }
    }

    /// The connection's reader goes on: what it still brings is no longer put in.
    func stopHolding() {
        let waiting = state.withLock { state in
            state.takesEverything = true
            return state.takeWaiting()
        }
        for one in waiting { one?.resolve(()) }
    }

    /// The connection's reader goes on: what it reads from has ended.
    func interrupt() {
        let waiting = state.withLock { $0.takeWaiting() }
        for one in waiting { one?.resolve(()) }
    }

    /// Nothing is going to be read: what has come and what still comes is dropped.
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

    /// A tiny message costs its place, too: a peer that sends empty ones must reach the limit.
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

    /// What the connection's reader waits for.
    fileprivate mutating func takeWaiting() -> [OneShot<Void>?] {
        [exchange(&room, with: nil), exchange(&rest, with: nil)]
    }

    fileprivate mutating func take(below limit: Int) -> Taken {
        guard first < messages.count else {
            isAnswering = false
            // An error is told once; later the stream is over.
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
        // Half empty: the connection's reader does not wake for every single message.
        return Taken(message: message, room: cost <= limit / 2 ? exchange(&room, with: nil) : nil)
    }
}
