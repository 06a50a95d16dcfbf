public import CurlewCore

/// The lines of a body as they arrive, as UTF-8 text in which invalid bytes are replaced.
///
/// `\n` and `\r\n` end a line. Blank lines are kept; a final line end adds no empty line. A line longer than the
/// request's `maximumBodySize` is `.limitExceeded`.
public struct StreamLines: AsyncSequence, Sendable {
    let open: @Sendable () -> StreamReader
    let maximumLength: Int

    public func makeAsyncIterator() -> Iterator {
        Iterator(
            lines: LineReader(open(), maximumLength: maximumLength) { bytes, _ in
                String(decoding: bytes, as: UTF8.self)
            }
        )
    }

    /// Hands out one line after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var lines: LineReader<String>

        // Inlined into the caller's loop: most lines have been cut already and need no asynchronous call.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> String? {
            if let line = takeReady() { return line }
            return try await read()
        }

        @usableFromInline
        mutating func takeReady() -> String? { lines.takeReady() }

        @usableFromInline
        mutating func read() async throws(CurlewError) -> String? { try await lines.next() }
    }
}
