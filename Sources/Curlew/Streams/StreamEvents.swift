public import CurlewCore
internal import Foundation

/// The server-sent events of a body as they arrive, parsed as the HTML standard says.
///
/// The sequence ends with the response. `reconnecting()` opens it again, as browsers do.
public struct StreamEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    public typealias Failure = CurlewError

    /// A reader of the request's body, or of a new request's that says which event was the last.
    typealias Open = @Sendable (_ reconnection: Reconnection?) -> Connection

    struct Reconnection: Sendable {
        var lastEventID: String?
    }

    struct Connection: Sendable {
        var reader: StreamReader
        /// Of the response, once it has come.
        let status: @Sendable () -> Int?
        /// Why the response is no stream of events.
        var refusal: @Sendable () -> CurlewError? = { nil }
    }

    let open: Open
    /// The request was cancelled: no other connection follows.
    var cancelled = OneShot<CurlewError>()
    let maximumEventSize: Int
    var reconnection: EventReconnection?

    /// Connects again when the stream ends or breaks: with `Last-Event-ID`, after the time that the server
    /// asked for, waiting longer each time a connection fails. A server's time counts as at least 100 milliseconds (or
    /// `delay`, where that is shorter) and at most `maximumDelay`.
    ///
    /// It ends when the server answers 204. An error that another connection would not heal is thrown, and
    /// the last one of `maximumFailures` connections that failed in a row. A response of another media type than
    /// `text/event-stream` is such an error, `.unacceptableContentType`, and so is one of another status than 200,
    /// `.unacceptableStatus`: their events are not delivered. Cancelling the request ends it with
    /// `.cancelled`, whichever connection it has reached.
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

    /// Hands out one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let open: Open
        let cancelled: OneShot<CurlewError>
        var connection: Connection?
        var parser: EventStreamParser
        var reconnection: EventReconnection?
        private var piece = Data()
        /// How far the piece was parsed.
        private var place = EventStreamParser.Place()
        /// The last first.
        private var ready: [ServerSentEvent] = []
        private var failure: CurlewError?
        /// Whether the connection has brought bytes.
        private var hasBegun = false

        /// So many events are parsed at once, for the same reasons as `LineReader` cuts a few lines at a time.
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

        public mutating func next() async throws(CurlewError) -> ServerSentEvent? { try await next(isolation: nil) }

        // Inlined into the caller's loop: most events are there already, and need no asynchronous call.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(CurlewError) -> ServerSentEvent? {
            if let event = takeReady() { return event }
            return try await read(isolation: actor)
        }

        @usableFromInline
        mutating func read(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> ServerSentEvent? {
            while true {
                if let event = takeReady() { return event }
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
                // While more is waited for, nothing of what was read stays in memory.
                (piece, place) = (Data(), EventStreamParser.Place())
                do throws(CurlewError) {
                    if let next = try await connection?.reader.next(isolation: actor) {
                        if reconnection != nil, !hasBegun, let refusal = connection?.refusal() {
                            failure = refusal
                            connection?.reader.leave()
                            continue
                        }
                        piece = next
                        hasBegun = true
                        reconnection?.streamed()
                    } else if let action = reconnection?.ended(status: connection?.status()) {
                        try await follow(action, nil, actor)
                    } else {
                        self.connection = nil
                    }
                } catch {
                    guard let action = reconnection?.failed(with: error, random: .random(in: 0..<1)) else {
                        self.connection = nil
                        throw error
                    }
                    try await follow(action, error, actor)
                }
            }
        }

        /// Whether something is there that was not handed on.
        private var hasReady: Bool { !ready.isEmpty || place.position < piece.count }

        /// The next event, where it ends in the piece that is there and the task was not cancelled.
        @usableFromInline
        mutating func takeReady() -> ServerSentEvent? {
            guard !Task.isCancelled else { return nil }
            if let event = ready.popLast() { return event }
            guard place.position < piece.count else { return nil }
            parse(piece)
            return ready.popLast()
        }

        private mutating func parse(_ piece: Data) {
            piece.withUnsafeBytes { bytes in
                do throws(CurlewError) {
                    while ready.count < Self.batch, let event = try parser.next(in: bytes, from: &place) {
                        ready.append(event)
                    }
                } catch {
                    // It comes after the events before it, and no connection would heal it.
                    failure = error
                    self.piece = Data()
                    connection?.reader.leave()
                }
            }
            ready.reverse()
            if let time = parser.reconnectionTime { reconnection?.serverAsked(for: time) }
        }

        private mutating func follow(
            _ action: EventReconnection.Action,
            _ error: CurlewError?,
            _ isolation: isolated (any Actor)?
        ) async throws(CurlewError) {
            let ended = connection
            connection = nil
            switch action {
            case .end: return
            case .fail: if let error { throw error }
            case .reconnect(let delay):
                // Where it broke before its body, the head may be that of a redirect or of a status that is tried again.
                if error == nil, let refusal = ended?.refusal() { throw refusal }
                hasBegun = false
                try await pause(for: delay)
                parser = EventStreamParser(maximumEventSize: parser.maximumEventSize, lastEventID: parser.lastEventID)
                connection = open(Reconnection(lastEventID: parser.lastEventID))
            }
        }

        /// Ends early where the request or the reading task is cancelled.
        private func pause(
            for delay: Duration, isolation: isolated (any Actor)? = #isolation
        ) async throws(CurlewError) {
            await withTaskGroup { [cancelled] group in
                group.addTask { _ = await Pause.wait(for: delay) }
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
    /// Why a response is no stream of events: asking again does not change that, and the HTML standard fails the connection
    /// (9.2.3). One without a media type is taken for a stream.
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
