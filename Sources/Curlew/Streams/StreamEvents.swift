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
    }

    let open: Open
    let maximumEventSize: Int
    var reconnection: EventReconnection?

    /// Connects again when the stream ends or breaks: with `Last-Event-ID`, after the time that the server
    /// asked for, waiting longer each time a connection fails. A server's time counts as at least 100 milliseconds (or
    /// `delay`, where that is shorter) and at most `maximumDelay`.
    ///
    /// It ends when the server answers 204. An error that another connection would not heal is thrown, and
    /// the last one of `maximumFailures` connections that failed in a row.
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
            connection: open(nil),
            parser: EventStreamParser(maximumEventSize: maximumEventSize),
            reconnection: reconnection
        )
    }

    /// Hands out one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let open: Open
        var connection: Connection?
        var parser: EventStreamParser
        var reconnection: EventReconnection?
        private var piece = Data()
        /// How far the piece was parsed.
        private var place = EventStreamParser.Place()
        /// The last first.
        private var ready: [ServerSentEvent] = []
        private var failure: CurlewError?

        /// So many events are parsed at once, for the same reasons as `LineReader` cuts a few lines at a time.
        private static let batch = 7

        init(
            open: @escaping Open,
            connection: Connection,
            parser: EventStreamParser,
            reconnection: EventReconnection?
        ) {
            self.open = open
            self.connection = connection
            self.parser = parser
            self.reconnection = reconnection
        }

        public mutating func next() async throws(CurlewError) -> ServerSentEvent? { try await next(isolation: nil) }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(CurlewError) -> ServerSentEvent? {
            // Most events are there already, and need no second asynchronous call.
            if let event = takeReady() { return event }
            return try await read(isolation: actor)
        }

        private mutating func read(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> ServerSentEvent?
        {
            while true {
                if let event = takeReady() { return event }
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
                        piece = next
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

        /// The next event, where it ends in the piece that is there.
        private mutating func takeReady() -> ServerSentEvent? {
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
            connection = nil
            switch action {
            case .end: return
            case .fail: if let error { throw error }
            case .reconnect(let delay):
                do {
                    try await Task.sleep(for: delay)
                } catch {
                    throw CurlewError(.cancelled, phase: .retry, reason: "the reading task was cancelled")
                }
                parser = EventStreamParser(maximumEventSize: parser.maximumEventSize, lastEventID: parser.lastEventID)
                connection = open(Reconnection(lastEventID: parser.lastEventID))
            }
        }
    }
}
