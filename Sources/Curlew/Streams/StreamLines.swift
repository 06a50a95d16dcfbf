public import CurlewCore
internal import CurlewLocks
internal import Foundation

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

    /// The iterator of lines.
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

/// The values of a body that has one on each line (NDJSON, JSON Lines), decoded as they arrive.
///
/// Blank lines are skipped. A line that does not decode ends the sequence with `.decodingFailed`.
public struct StreamValues<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let open: @Sendable () -> StreamReader
    let maximumLength: Int
    let decoder: any DataDecoder

    public func makeAsyncIterator() -> Iterator {
        // Only our decoder is known to accept data whose indices do not begin at zero.
        let takesParts = decoder is FastJSONDecoder
        let lines = LineReader(open(), maximumLength: maximumLength) { bytes, piece -> Data? in
            guard !bytes.allSatisfy(\.isASCIIBlank) else { return nil }
            return takesParts ? piece.part(bytes) ?? Data(bytes) : Data(bytes)
        }
        return Iterator(lines: lines, decoder: decoder)
    }

    /// The iterator of values.
    public struct Iterator: AsyncIteratorProtocol {
        var lines: LineReader<Data>
        let decoder: any DataDecoder
        /// The parser's memory, reused for the whole stream.
        let memory = JSONTapeMemory()

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> Value? {
            guard let line = try await lines.next() else { return nil }
            do {
                guard let fast = decoder as? FastJSONDecoder else { return try decoder.decode(Value.self, from: line) }
                return try fast.decode(Value.self, from: line, reusing: memory)
            } catch {
                lines.leave()
                throw .partNotDecoded("a line of the stream", as: Value.self, error)
            }
        }
    }
}

extension Data {
    /// A slice with these bytes, without a copy; `nil` if they are not part of this data.
    fileprivate func part(_ bytes: UnsafeRawBufferPointer) -> Data? {
        withUnsafeBytes { all in
            guard let start = all.baseAddress, let first = bytes.baseAddress, first >= start,
                first + bytes.count <= start + all.count
            else { return nil }
            let offset = startIndex + (first - start)
            return self[offset..<offset + bytes.count]
        }
    }
}

extension UInt8 {
    fileprivate var isASCIIBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}

/// Cuts the pieces of a reader into lines, and makes an element of each line.
struct LineReader<Line: Sendable>: Sendable {
    private var reader: StreamReader
    private let make: Make
    private var splitter: LineSplitter
    private var piece = Data()
    /// The position of the first byte that has not been cut.
    private var position = 0
    /// Cut lines, the last one first.
    private var ready: [Line] = []
    private var end: Result<Void, CurlewError>?

    /// Makes an element from a line's bytes, or `nil` to skip the line. Most lines are a slice of the `piece` that
    /// contains them.
    typealias Make = @Sendable (_ bytes: UnsafeRawBufferPointer, _ piece: Data) -> Line?

    /// The number of lines cut at once. Each access to a piece's bytes has a fixed price, and glibc recycles up to
    /// seven freed blocks of a size without a search.
    private static var batch: Int { 7 }

    init(_ reader: StreamReader, maximumLength: Int, make: @escaping Make) {
        self.reader = reader
        self.make = make
        splitter = LineSplitter(maximumLength: maximumLength)
    }

    mutating func next() async throws(CurlewError) -> Line? {
        while true {
            if let line = takeReady() { return line }
            // Nothing was taken although something is ready: the task was cancelled.
            guard !hasReady else {
                leave()
                throw BodyChannel.readerCancelled
            }
            if let end {
                self.end = .success(())
                try end.get()
                return nil
            }
            // Releases the last piece before the wait for the next one.
            (piece, position) = (Data(), 0)
            do throws(CurlewError) {
                if let next = try await reader.next() { piece = next } else { takeLast() }
            } catch {
                // The body failed, so the incomplete line is dropped.
                end = .success(())
                throw error
            }
        }
    }

    /// The next line, if it ends in the current piece and the task has not been cancelled.
    mutating func takeReady() -> Line? {
        guard !Task.isCancelled else { return nil }
        if let line = ready.popLast() { return line }
        guard position < piece.count else { return nil }
        cut(piece)
        return ready.popLast()
    }

    /// Whether there is a line, or bytes, that `next()` has not returned.
    private var hasReady: Bool { !ready.isEmpty || position < piece.count }

    /// Ends reading: unread lines are dropped.
    mutating func leave() {
        (ready, piece, end) = ([], Data(), .success(()))
        reader.leave()
    }

    /// Cuts the next batch. An error is stored in `end`, and thrown after the lines that precede it.
    private mutating func cut(_ piece: Data) {
        piece.withUnsafeBytes { bytes in
            do throws(CurlewError) {
                while ready.count < Self.batch, let line = try splitter.next(in: bytes, from: &position) {
                    switch line {
                    case .inside(let range): add(UnsafeRawBufferPointer(rebasing: bytes[range]), of: piece)
                    case .joined(let line): line.withUnsafeBytes { add($0, of: piece) }
                    }
                }
            } catch {
                end = .failure(error)
                self.piece = Data()
                reader.leave()
            }
        }
        ready.reverse()
    }

    private mutating func takeLast() {
        do throws(CurlewError) {
            if let line = try splitter.last() { line.withUnsafeBytes { add($0, of: Data()) } }
            end = .success(())
        } catch {
            end = .failure(error)
        }
    }

    private mutating func add(_ line: UnsafeRawBufferPointer, of piece: Data) {
        if let line = make(line, piece) { ready.append(line) }
    }
}
