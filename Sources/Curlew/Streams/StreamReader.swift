public import CurlewCore
internal import CurlewLocks
public import Foundation

/// The bytes of a body as they arrive. A slow reader pauses the sender; leaving the loop cancels the transfer.
public struct StreamChunks: AsyncSequence, Sendable {
    let open: @Sendable () -> StreamReader

    public func makeAsyncIterator() -> Iterator { Iterator(reader: open()) }

    /// The iterator of pieces.
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

    /// The iterator of bytes.
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
    private let claim: ReaderClaim
    /// Taken pieces, the newest first.
    private var pieces: [Data] = []

    /// Calls `start` before every read of the channel. It starts the run at the first one.
    init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
        claim = ReaderClaim(channel, start: start)
    }

    /// Claims the body of a channel that nobody else reads, so that releasing the reader unread cancels the transfer
    /// too.
    init(claiming channel: BodyChannel) {
        claim = ReaderClaim(channel) {}
        claim.acquire()
    }

    mutating func next() async throws(CurlewError) -> Data? {
        if let piece = pieces.popLast() {
            guard Task.isCancelled else { return piece }
            // The unread piece is dropped, so the body must not seem to end regularly.
            pieces = []
            leave()
            throw BodyChannel.readerCancelled
        }
        guard var taken = try await claim.take() else { return nil }
        if taken.count > 1 { taken.reverse() }
        let piece = taken.popLast()
        pieces = taken
        return piece
    }

    /// Ends reading, and the transfer with it.
    func leave() { claim.leave() }

    /// The claim of a reader and its copies on the body. Releasing the last copy ends reading.
    private final class ReaderClaim: Sendable {
        private enum State {
            case unread, reading
            /// Another reader has claimed the body.
            case refused
        }

        private let channel: BodyChannel
        private let start: @Sendable () -> Void
        private let state = Lock(State.unread)

        init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
            self.channel = channel
            self.start = start
        }

        deinit { leave() }

        /// Ends reading, but only if this reader has the body: it must not end that of another reader.
        func leave() {
            if state.withLock({ $0 }) == .reading { channel.leave() }
        }

        func take() async throws(CurlewError) -> [Data]? {
            guard acquire() else { throw channel.refusal }
            start()
            return try await channel.take()
        }

        /// Claims the body, unless that was tried before. Returns whether this reader has it.
        @discardableResult
        func acquire() -> Bool {
            state.withLock { state in
                if state == .unread { state = channel.claim() ? .reading : .refused }
                return state == .reading
            }
        }
    }
}
