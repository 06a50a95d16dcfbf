public import CurlewCore
internal import Foundation

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
