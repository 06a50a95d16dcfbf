public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The messages of a WebSocket as they arrive. One task reads them; a slow reader pauses the server, and leaving the
/// loop closes the WebSocket.
///
/// The sequence ends on the close codes 1000, 1001 and 1005, and when this side has closed. Every other end is an
/// error: `.webSocketClosed` with the code and the reason of the server, `.protocolViolation`, `.limitExceeded`,
/// `.idleTimedOut`, or the error that broke the connection.
public struct WebSocketMessages: AsyncSequence, Sendable {
    let open: @Sendable () -> WebSocketReader

    public func makeAsyncIterator() -> Iterator { Iterator(open: open) }

    /// The iterator of messages. Releasing an iterator before its first `next()` does not close the
    /// WebSocket.
    public struct Iterator: AsyncIteratorProtocol {
        private let open: @Sendable () -> WebSocketReader
        private var reader: WebSocketReader?

        init(open: @escaping @Sendable () -> WebSocketReader) { self.open = open }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(CurlewError) -> WebSocketMessage? {
            let reader = self.reader ?? open()
            self.reader = reader
            // Under load the next message has usually arrived already.
            if let message = reader.nextNow() { return message }
            return try await reader.next()
        }
    }
}

/// One reader of messages. Releasing it closes the WebSocket, so leaving a loop is enough.
final class WebSocketReader: Sendable {
    private let inbox: WebSocketInbox
    private let start: @Sendable () -> Void
    private let leave: @Sendable () -> Void

    init(_ inbox: WebSocketInbox, start: @escaping @Sendable () -> Void, leave: @escaping @Sendable () -> Void) {
        self.inbox = inbox
        self.start = start
        self.leave = leave
    }

    deinit {
        inbox.leave()
        leave()
    }

    func nextNow() -> WebSocketMessage? { inbox.nextNow() }

    func next() async throws(CurlewError) -> WebSocketMessage? {
        start()
        do throws(CurlewError) {
            return try await inbox.next()
        } catch {
            // The reading task was cancelled, or everything has ended.
            if error.code == .cancelled { leave() }
            throw error
        }
    }
}

extension WebSocketMessage {
    /// Decodes the bytes of the message, or its text.
    ///
    ///     for try await message in socket.messages { print(try message.decode(Price.self)) }
    ///
    /// Throws `.decodingFailed` if the message does not decode. `messages.decode(Price.self)` decodes all messages.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) throws(CurlewError) -> T {
        let data =
            switch self {
            case .text(let text): Data(text.utf8)
            case .data(let data): data
            }
        return try decoder.value(type, of: data, named: "the message")
    }
}

extension WebSocketMessages {
    /// The messages as values, each decoded when it is read.
    ///
    ///     for try await price in socket.messages.decode(Price.self) { print(price) }
    ///
    /// A message that does not decode ends the sequence with `.decodingFailed` and closes the WebSocket, as leaving the
    /// loop does. If some messages have another form, decode them one by one: `message.decode(Price.self)`.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) -> WebSocketValues<Value> {
        WebSocketValues(messages: self, decoder: decoder)
    }
}

/// The messages of a WebSocket, decoded as they arrive. The sequence ends as `WebSocketMessages` does, and with
/// `.decodingFailed` at a message that does not decode.
public struct WebSocketValues<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let messages: WebSocketMessages
    let decoder: any DataDecoder

    public func makeAsyncIterator() -> Iterator { Iterator(messages: messages.makeAsyncIterator(), decoder: decoder) }

    /// The iterator of values.
    public struct Iterator: AsyncIteratorProtocol {
        /// `nil` after a message that did not decode: releasing its reader closes the WebSocket.
        var messages: WebSocketMessages.Iterator?
        let decoder: any DataDecoder

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> Value? {
            guard let message = try await messages?.next(isolation: actor) else { return nil }
            do throws(CurlewError) {
                return try message.decode(Value.self, decoder: decoder)
            } catch {
                messages = nil
                throw error
            }
        }
    }
}

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
        var readerWait: ReaderWait?
        /// Whether the user has taken a message and has not asked for the next one yet.
        var isAnswering = false
        /// Whether a message has been taken and nothing has been sent since.
        var owesAnswer = false

        var isOpen: Bool { if case .open = stage { true } else { false } }
    }

    /// The wait of the connection's reader, which is a single task. It does not wait unless the stage is `open`.
    fileprivate enum ReaderWait: Sendable {
        case room(OneShot<Void>)
        /// Until the user has read all messages and asks for another.
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
            state.readerWait = .room(room)
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
            state.readerWait = .answers(answers)
            return answers
        }
        await answers?.wait()
    }

    /// Ends the stream. Received messages can still be read; then the reader gets `error` or the end.
    func finish(throwing error: CurlewError?) {
        let (arrival, readerWait) = state.withLock { state -> (OneShot<Void>?, ReaderWait?) in
            if case .ended = state.stage { return (nil, nil) }
            state.stage = .ended(error)
            return (exchange(&state.arrival, with: nil), exchange(&state.readerWait, with: nil))
        }
        arrival?.resolve(())
        readerWait?.end()
    }

    // MARK: The user

    /// The next message, if one has been received and the task has not been cancelled.
    func nextNow() -> WebSocketMessage? {
        guard !Task.isCancelled else { return nil }
        let (message, readerWait) = state.withLock { $0.takeMessage(below: limit) }
        readerWait?.end()
        return message
    }

    /// The next message; `nil` at the end.
    func next() async throws(CurlewError) -> WebSocketMessage? {
        while true {
            // If the peer sends without a pause, a cancelled reader never has to wait, and only this check ends it.
            if Task.isCancelled, hasMessages { throw Self.readerCancelled }
            let (taken, readerWait) = state.withLock { $0.takeNext(below: limit) }
            readerWait?.end()
            switch taken {
            case .message(let message): return message
            case .end(let error?): throw error
            case .end(nil): return nil
            case .wait(let arrival): guard await arrival.wait() != nil else { throw Self.readerCancelled }
            }
        }
    }

    private var hasMessages: Bool { state.withLock { $0.first < $0.messages.count } }

    /// Returns whether a message sent now is the answer to the last received one, for which the peer waits. Returns
    /// `true` only once after the user has read a message.
    func claimAnswer() -> Bool {
        state.withLock { state in
            guard state.owesAnswer, state.first == state.messages.count else { return false }
            state.owesAnswer = false
            return true
        }
    }

    /// Lets the connection's reader continue, because the state machine delivers no more messages.
    func stopHolding() {
        let readerWait = state.withLock { state in
            if state.isOpen { state.stage = .closing }
            return exchange(&state.readerWait, with: nil)
        }
        readerWait?.end()
    }

    /// Lets the connection's reader continue, because the connection has ended.
    func interrupt() { state.withLock { exchange(&$0.readerWait, with: nil) }?.end() }

    /// Drops received and later messages, because nothing will read them.
    func leave() {
        let readerWait = state.withLock { state in
            switch state.stage {
            case .open, .closing: state.stage = .left
            case .left, .ended: break
            }
            state.messages = []
            state.first = 0
            state.cost = 0
            return exchange(&state.readerWait, with: nil)
        }
        readerWait?.end()
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
    /// The result of asking for a message.
    fileprivate enum Taken {
        case message(WebSocketMessage)
        case end(CurlewError?)
        case wait(OneShot<Void>)
    }

    /// Returns the next message, the end, or the wait for either, and the wait of the connection's reader to end.
    fileprivate mutating func takeNext(below limit: Int) -> (Taken, WebSocketInbox.ReaderWait?) {
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
            guard case .answers? = readerWait else { return (.wait(waiter), nil) }
            return (.wait(waiter), exchange(&readerWait, with: nil))
        }
    }

    /// Returns the next message, if one has arrived, and the wait of the connection's reader to end.
    fileprivate mutating func takeMessage(below limit: Int) -> (WebSocketMessage?, WebSocketInbox.ReaderWait?) {
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
        guard cost <= limit / 2, case .room? = readerWait else { return (message, nil) }
        return (message, exchange(&readerWait, with: nil))
    }
}
