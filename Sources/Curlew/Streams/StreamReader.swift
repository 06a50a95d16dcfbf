public import CurlewCore
internal import CurlewLocks
public import Foundation

/// The bytes of a body as they arrive. A slow reader pauses the sender; leaving the loop cancels the transfer.
public struct StreamChunks: AsyncSequence, Sendable {
    let open: @Sendable () -> StreamReader

    public func makeAsyncIterator() -> Iterator { Iterator(reader: open()) }

    /// Hands out one piece after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var reader: StreamReader

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> Data? {
            try await reader.next()
        }
    }
}

/// A body byte by byte, like `URLSession.AsyncBytes`; the result of `session.bytes(for:)`.
///
///     let (bytes, response) = try await session.bytes(for: request)
///     for try await line in bytes.lines { print(line) }
///
/// `session.streamRequest(url).chunks` delivers whole chunks, which costs less. A body has one reader. Releasing the
/// bytes and their iterators cancels the request.
public struct StreamBytes: AsyncSequence, Sendable {
    private let request: DataStreamRequest
    private let owner: Owner

    init(of request: DataStreamRequest) {
        self.request = request
        owner = Owner(request)
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(chunks: request.chunks.makeAsyncIterator(), owner: owner)
    }

    /// The lines without the empty ones, as in URLSession. `session.streamRequest(url).lines` also delivers the empty
    /// ones.
    public var lines: AsyncFilterSequence<StreamLines> {
        let owner = owner
        return request.lines.filter { line in
            withExtendedLifetime(owner) { !line.isEmpty }
        }
    }

    /// Hands out one byte after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private var chunks: StreamChunks.AsyncIterator
        private var bytes = Data().makeIterator()
        private let owner: Owner

        fileprivate init(chunks: StreamChunks.AsyncIterator, owner: Owner) {
            self.chunks = chunks
            self.owner = owner
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> UInt8? {
            while true {
                if let byte = bytes.next() { return byte }
                guard let chunk = try await chunks.next(isolation: actor) else { return nil }
                bytes = chunk.makeIterator()
            }
        }
    }

    /// Cancels the request when the last copy of the bytes and their iterators is released.
    fileprivate final class Owner: Sendable {
        private let request: DataStreamRequest

        init(_ request: DataStreamRequest) { self.request = request }

        deinit { request.cancel() }
    }
}

/// One reader of a streamed body, with the pieces it has taken and not yet returned. Releasing it cancels the transfer,
/// so leaving a loop is enough.
struct StreamReader: Sendable {
    private let place: Place
    /// Taken pieces, the newest first.
    private var pieces: [Data] = []

    /// `start` is called before every read of the channel, because the first one starts the run.
    init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
        place = Place(channel, start: start)
    }

    /// Claims the body of a channel that nobody else reads, so that releasing the reader unread cancels the transfer
    /// too.
    init(claiming channel: BodyChannel) {
        place = Place(channel) {}
        place.claim()
    }

    mutating func next() async throws(CurlewError) -> Data? {
        if let piece = pieces.popLast() {
            guard Task.isCancelled else { return piece }
            // The unread piece is dropped, so the body must not seem to end regularly.
            pieces = []
            leave()
            throw BodyChannel.readerCancelled
        }
        guard var taken = try await place.take() else { return nil }
        if taken.count > 1 { taken.reverse() }
        let piece = taken.popLast()
        pieces = taken
        return piece
    }

    func leave() { place.leave() }

    /// The reader's claim on the channel. It is given up when the last copy of the reader is released.
    private final class Place: Sendable {
        private enum State {
            case waiting, reading
            /// Another reader has claimed the body.
            case refused
        }

        private let channel: BodyChannel
        private let start: @Sendable () -> Void
        private let state = Lock(State.waiting)

        init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
            self.channel = channel
            self.start = start
        }

        deinit { leave() }

        /// Ends the channel, but only if this reader has begun to read: it must not end the body of another reader.
        func leave() {
            if state.withLock({ $0 }) == .reading { channel.leave() }
        }

        func take() async throws(CurlewError) -> [Data]? {
            guard claim() else { throw channel.refusal }
            start()
            return try await channel.take()
        }

        /// Claims the body, unless that was tried before. Returns whether this reader has it.
        @discardableResult
        func claim() -> Bool {
            state.withLock { state in
                if state == .waiting { state = channel.becomesReader() ? .reading : .refused }
                return state == .reading
            }
        }
    }
}

extension DataStreamRequest {
    /// Starts the run in a separate task, unless an earlier call has. `reads` is `false` if the caller wants only the
    /// head. Leaving the iteration, or the end of its task, cancels the request.
    func startRun(reads: Bool) {
        let isFirst = reading.withLock { reading in
            defer { reading.hasSequence = true }
            if reads { reading.hasReader = true }
            return !reading.hasSequence
        }
        guard isFirst else { return }
        let awaiting = beginAwaiting()
        // A call that only wants the head must not keep the user's handle alive: releasing the handle ends a run whose
        // body is not read.
        let run = reads ? self : handleOfRun()
        if !reads, case .drive = awaiting.action { reading.withLock { $0.unreadRun = .forHeads } }
        Task { _ = await run.outcome(of: awaiting, checksStatus: true) }
    }
}

/// A handler of events that arrive over time, with its types erased.
struct StreamHandler<Event: Sendable>: Sendable {
    /// Makes the work for the handler's queue; `nil` if the event does not concern the handler.
    let prepare: @Sendable (Event) -> (@Sendable () -> Void)?
    let delivery: Delivery
    /// Counts the unread events of a handler that puts them into a sequence; `nil` for a handler that is done with an
    /// event when it returns.
    var backlog: StreamBacklog?

    /// Delivers an event of `size` bytes to handlers, each on its own queue. Returns when all are done with it and have
    /// room for another: a slow handler thereby pauses the sender.
    static func deliver(_ event: Event, size: Int, to handlers: [Self]) async {
        await withCheckedContinuation { continuation in
            let countdown = Countdown(handlers.count) { continuation.resume() }
            for handler in handlers {
                guard let work = handler.prepare(event) else {
                    countdown.step()
                    continue
                }
                handler.backlog?.add(size)
                handler.delivery {
                    work()
                    guard let backlog = handler.backlog else { return countdown.step() }
                    backlog.whenThereIsRoom { countdown.step() }
                }
            }
        }
    }
}

/// A handler of a streamed body. Its `prepare` serializes the chunk.
typealias StreamConsumer = StreamHandler<Data>

/// Delivers a body's chunks to handlers.
struct StreamPump: Sendable {
    let channel: BodyChannel
    /// The handlers that have been added so far.
    let consumers: @Sendable () -> [StreamConsumer]

    func run() async {
        while let pieces = try? await channel.take() {
            for piece in pieces { await StreamConsumer.deliver(piece, size: piece.count, to: consumers()) }
        }
    }
}

/// Calls back after `count` steps. Not a `OneShot`: it counts, and its waiter is never cancelled.
private final class Countdown: Sendable {
    private let missing: Lock<Int>
    private let done: @Sendable () -> Void

    init(_ count: Int, done: @escaping @Sendable () -> Void) {
        missing = Lock(count)
        self.done = done
        if count == 0 { done() }
    }

    func step() {
        let isLast = missing.withLock { missing in
            missing -= 1
            return missing == 0
        }
        if isLast { done() }
    }
}
