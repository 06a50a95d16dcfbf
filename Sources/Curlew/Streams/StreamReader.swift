internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// One reader of a streamed body, with the pieces it has taken and not yet returned. Releasing it cancels the transfer,
/// so leaving a loop is enough.
struct StreamReader: Sendable {
    private let place: Place
    /// Taken pieces, the newest first.
    private var pieces: [Data] = []

    /// `start` is called before every read of the channel. The first call starts the run.
    init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
        place = Place(channel, start: start)
    }

    mutating func next() async throws(CurlewError) -> Data? {
        if let piece = pieces.popLast() {
            guard Task.isCancelled else { return piece }
            // The unread piece is lost, so the reader must not see the channel's regular end after it.
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
            /// Another reader has the body.
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
            guard mayRead() else { throw channel.refusal }
            start()
            return try await channel.take()
        }

        private func mayRead() -> Bool {
            state.withLock { state in
                if state == .waiting { state = channel.becomesReader() ? .reading : .refused }
                return state == .reading
            }
        }
    }
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
                // The body broke: the incomplete line is dropped.
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

    // Cuts the next batch. An error is thrown after the lines that precede it.
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
