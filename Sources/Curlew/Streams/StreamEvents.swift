public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The server-sent events of a body as they arrive, parsed according to the HTML standard.
///
/// The sequence ends with the response. `reconnecting()` opens it again, as browsers do.
public struct StreamEvents: AsyncSequence, Sendable {
    /// Opens a connection: the request's own without a resumption, otherwise that of a new request, which names the
    /// last event.
    typealias Open = @Sendable (_ resumption: Resumption?) -> Connection

    struct Resumption: Sendable {
        var lastEventID: String?
    }

    struct Connection: Sendable {
        var reader: StreamReader
        /// The status of the response; `nil` until its head has arrived.
        let status: @Sendable () -> Int?
        /// Returns the error of a response that is not a stream of events.
        var refusal: @Sendable () -> CurlewError? = { nil }
    }

    let open: Open
    /// Resolved when the request is cancelled. No connection is opened after that.
    var cancelled = OneShot<CurlewError>()
    let maximumEventSize: Int
    var reconnection: EventReconnection?

    /// Connects again when the stream ends or breaks: with `Last-Event-ID`, after the time that the server asked for,
    /// waiting longer each time a connection fails. A server's time counts as at least 100 milliseconds (or `delay`, if
    /// that is shorter) and at most `maximumDelay`.
    ///
    /// The sequence ends when the server answers 204. It throws an error that another connection cannot fix, and the
    /// last error after `maximumFailures` connections have failed in a row. A response of another media type than
    /// `text/event-stream` is such an error, `.unacceptableContentType`, and so is one of another status than 200,
    /// `.unacceptableStatus`: their events are not delivered. Cancelling the request ends the sequence with
    /// `.cancelled` on every connection.
    public func reconnecting(
        delay: Duration = .seconds(3),
        maximumDelay: Duration = .seconds(60),
        maximumFailures: Int = 10
    ) -> StreamEvents {
        var copy = self
        copy.reconnection = EventReconnection(
            delay: delay,
            maximumDelay: maximumDelay,
            maximumFailures: maximumFailures
        )
        return copy
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(
            open: open,
            cancelled: cancelled,
            connection: open(nil),
            parser: EventStreamParser(maximumEventSize: maximumEventSize),
            reconnection: reconnection
        )
    }

    /// The iterator of events.
    public struct Iterator: AsyncIteratorProtocol {
        let open: Open
        let cancelled: OneShot<CurlewError>
        var connection: Connection?
        var parser: EventStreamParser
        var reconnection: EventReconnection?
        private var piece = Data()
        /// The position up to which the piece has been parsed.
        private var cursor = EventStreamParser.Cursor()
        /// Parsed events, the last one first.
        private var ready: [ServerSentEvent] = []
        private var failure: CurlewError?
        /// Whether the connection has delivered bytes.
        private var hasBegun = false

        /// The number of events parsed at once; see `LineReader.batch`.
        private static let batch = 7

        init(
            open: @escaping Open,
            cancelled: OneShot<CurlewError>,
            connection: Connection,
            parser: EventStreamParser,
            reconnection: EventReconnection?
        ) {
            self.open = open
            self.cancelled = cancelled
            self.connection = connection
            self.parser = parser
            self.reconnection = reconnection
        }

        // Inlined into the caller's loop: most events have been parsed already and need no asynchronous call.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(CurlewError) -> ServerSentEvent? {
            if let event = takeReady() { return event }
            return try await read()
        }

        @usableFromInline
        mutating func read() async throws(CurlewError) -> ServerSentEvent? {
            while true {
                if let event = takeReady() { return event }
                // Nothing was taken although something is ready: the task was cancelled.
                guard !hasReady else {
                    (ready, piece, connection) = ([], Data(), nil)
                    throw BodyChannel.readerCancelled
                }
                if let failure {
                    self.failure = nil
                    connection = nil
                    throw failure
                }
                guard connection != nil else { return nil }
                // Releases the last piece before the wait for the next one.
                (piece, cursor) = (Data(), EventStreamParser.Cursor())
                do throws(CurlewError) {
                    if let next = try await connection?.reader.next() {
                        receive(next)
                    } else if let action = reconnection?.ended(status: connection?.status()) {
                        try await carryOut(action, after: nil)
                    } else {
                        connection = nil
                    }
                } catch {
                    guard let action = reconnection?.failed(with: error, random: .random(in: 0..<1)) else {
                        connection = nil
                        throw error
                    }
                    try await carryOut(action, after: error)
                }
            }
        }

        /// Makes the piece the next one to parse. If the stream reconnects, the first piece of a connection is dropped
        /// when its response is not a stream of events.
        private mutating func receive(_ next: Data) {
            if reconnection != nil, !hasBegun, let refusal = connection?.refusal() {
                failure = refusal
                connection?.reader.leave()
                return
            }
            piece = next
            hasBegun = true
            reconnection?.streamed()
        }

        /// Whether there is an event, or bytes, that `next()` has not returned.
        private var hasReady: Bool { !ready.isEmpty || cursor.position < piece.count }

        /// The next event, if it ends in the current piece and the task has not been cancelled.
        @usableFromInline
        mutating func takeReady() -> ServerSentEvent? {
            guard !Task.isCancelled else { return nil }
            if let event = ready.popLast() { return event }
            guard cursor.position < piece.count else { return nil }
            parse(piece)
            return ready.popLast()
        }

        private mutating func parse(_ piece: Data) {
            piece.withUnsafeBytes { bytes in
                do throws(CurlewError) {
                    while ready.count < Self.batch, let event = try parser.next(in: bytes, from: &cursor) {
                        ready.append(event)
                    }
                } catch {
                    // The error is thrown after the events that precede it. Another connection cannot fix it.
                    failure = error
                    self.piece = Data()
                    connection?.reader.leave()
                }
            }
            ready.reverse()
            if let time = parser.reconnectionTime { reconnection?.serverAsked(for: time) }
        }

        /// Acts on the end of a connection, or on its `error`.
        private mutating func carryOut(
            _ action: EventReconnection.Action,
            after error: CurlewError?
        ) async throws(CurlewError) {
            let ended = connection
            connection = nil
            switch action {
            case .end: return
            case .fail: if let error { throw error }
            case .reconnect(let delay):
                // After an error the head is not checked: it may be that of a redirect or of a status that is retried.
                if error == nil, let refusal = ended?.refusal() { throw refusal }
                hasBegun = false
                try await pause(for: delay)
                parser = EventStreamParser(maximumEventSize: parser.maximumEventSize, lastEventID: parser.lastEventID)
                connection = open(Resumption(lastEventID: parser.lastEventID))
            }
        }

        /// Waits. Ends early, and throws, if the request or the reading task is cancelled.
        private func pause(for delay: Duration) async throws(CurlewError) {
            await withTaskGroup { [cancelled] group in
                group.addTask { _ = await CancellableSleep.wait(for: delay) }
                group.addTask { _ = await cancelled.wait() }
                await group.next()
                group.cancelAll()
            }
            if let error = cancelled.value { throw error }
            guard Task.isCancelled else { return }
            throw CurlewError(.cancelled, phase: .retry, reason: "the reading task was cancelled")
        }
    }
}

extension StreamEvents {
    /// Returns the error of a response that is not a stream of events. It ends a reconnecting stream: the HTML standard
    /// fails the connection (9.2.3). A response without a media type is read as a stream.
    static func refusal(of response: LazyResponse) -> CurlewError? {
        guard response.head.status == 200 else {
            return CurlewError(
                .unacceptableStatus, phase: .validation, reason: "a stream of events has status 200",
                url: response.url, responseCode: response.head.status)
        }
        guard let type = response.head.headers["Content-Type"] else { return nil }
        let verdict = ResponseValidation.contentType(type, in: ["text/event-stream"], bodyIsEmpty: false)
        guard case .failure(let failure as CurlewError) = verdict else { return nil }
        var error = failure
        error.url = response.url
        error.responseCode = response.head.status
        return error
    }
}

extension ServerSentEvent {
    /// Decodes the event's data.
    ///
    ///     for try await event in session.streamRequest(url).events where event.data != "[DONE]" {
    ///         print(try event.decode(Answer.self))
    ///     }
    ///
    /// Throws `.decodingFailed` if the data does not decode.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) throws(CurlewError) -> T {
        try decoder.value(type, of: Data(data.utf8), named: "the event's data")
    }
}

/// The later requests of a reconnecting event stream, as seen from its first request. The user holds only the first
/// one, so cancelling it must cancel its current successor.
final class EventSuccession: Sendable {
    /// Resolved with the first request's cancellation. After that no connection is opened.
    let cancelled = OneShot<CurlewError>()
    private let current = Lock<DataStreamRequest?>(nil)

    /// Adds the request that continues the stream. If the first request has already been cancelled, `next` is too.
    func add(_ next: DataStreamRequest) {
        // The previous request is released outside the lock.
        _ = current.withLock { exchange(&$0, with: next) }
        if let error = cancelled.value { next.cancel(with: error) }
    }

    func cancel(with error: CurlewError) {
        cancelled.resolve(error)
        current.withLock { $0 }?.cancel(with: error)
    }
}
