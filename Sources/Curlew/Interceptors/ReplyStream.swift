internal import CurlewCore
internal import CurlewLocks
public import Foundation

extension Reply {
    /// The body of a reply that arrives while it is read.
    ///
    /// It has one reader, and a slow reader slows down the sender. Leaving the loop, or releasing the stream unread,
    /// ends the transfer.
    public struct Stream: AsyncSequence, Sendable {
        /// A chunk of the body.
        public typealias Element = Data

        private let source: ReplySource

        /// Creates a stream of the elements of a sequence.
        public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == Data {
            self.init {
                var iterator = chunks.makeAsyncIterator()
                return { try await iterator.next(isolation: #isolation) }
            }
        }

        /// Creates a stream that is opened by its reader. Releasing the returned function ends the reading.
        init(opening open: @escaping ReplySource.Open) { source = ReplySource(open) }

        /// Claims the stream for the caller.
        public func makeAsyncIterator() -> Iterator { Iterator(next: source.claim()) }

        func claimed() -> ReplySource.Reading { source.claim() }

        /// Hands out one chunk after the other.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let next: ReplySource.Reading

            /// Returns the next chunk; `nil` at the end of the body.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
                try await next()
            }
        }

        /// Returns the chunks as a closure changes them.
        func mapChunks(_ transform: @escaping @Sendable (Data) async throws -> Data) -> Stream {
            Stream { [source] in
                let next = source.claim()
                return {
                    guard let chunk = try await next() else { return nil }
                    return try await transform(chunk)
                }
            }
        }

        /// Returns the whole body, and keeps it for other readers.
        func collected(upTo limit: Int) async throws -> Data { try await source.collected(upTo: limit) }
    }
}

extension Reply.Body {
    /// The elements of a sequence, as they come.
    public static func stream<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) -> Reply.Body
    where Chunks.Element == Data {
        .stream(Reply.Stream(chunks))
    }
}

extension Reply.Body {
    /// Claims the body for the caller, who gets its chunks from the returned function.
    func opened() -> ReplySource.Reading {
        switch self {
        case .data(let data):
            var rest: Data? = data
            return { exchange(&rest, with: nil) }
        case .stream(let stream): return stream.claimed()
        }
    }
}

/// The body behind a `Reply.Stream`. It is claimed once, unless it was collected.
final class ReplySource: Sendable {
    /// Returns the next chunk. Used by one task.
    typealias Reading = () async throws -> Data?
    typealias Open = @Sendable () -> Reading

    private enum State {
        case unread(Open)
        case claimed
        case collected(Data)
    }

    private let state: Lock<State>

    init(_ open: @escaping Open) { state = Lock(making: { .unread(open) }) }

    func claim() -> Reading {
        let former = state.withLock { state in
            let former = state
            if case .unread = state { state = .claimed }
            return former
        }
        switch former {
        case .unread(let open): return open()
        case .claimed: return { throw Self.wasRead }
        case .collected(let data):
            var rest: Data? = data
            return { exchange(&rest, with: nil) }
        }
    }

    func collected(upTo limit: Int) async throws -> Data {
        let next = claim()
        var body = Data()
        while true {
            let chunk = try await next()
            // A sequence of the user may end without an error when its task is cancelled: that is not the whole body.
            if Task.isCancelled { throw CurlewError(.cancelled, phase: .receive) }
            guard let chunk else { break }
            guard chunk.count <= limit - body.count else { throw CurlewError.bodyTooLarge(limit) }
            // Without a copy, if the body arrives in one chunk.
            if body.isEmpty { body = chunk } else { body.append(chunk) }
        }
        let whole = body
        state.withLock { $0 = .collected(whole) }
        return whole
    }

    private static let wasRead = CurlewError(
        .bodyUnavailable, phase: .receive, reason: "the body of the reply has been read, or is being read"
    )
}
