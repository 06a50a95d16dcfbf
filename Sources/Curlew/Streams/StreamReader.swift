internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// One reader of a streamed body, with what it has taken and not yet handed on. When it is released, the transfer is
/// cancelled: leaving a loop is enough.
struct StreamReader: Sendable {
    private let place: Place
    /// The newest first.
    private var pieces: [Data] = []

    /// `start` is called before every read of the channel, and starts the run at the first.
    init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
        place = Place(channel, start: start)
    }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> Data? {
        if let piece = pieces.popLast() {
            guard Task.isCancelled else { return piece }
            // The channel may be at its end, which is not to be told in place of what was not read.
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

    /// The place at the channel, which goes with the last copy of its reader.
    private final class Place: Sendable {
        private enum State {
            case waiting, reading
            /// Another reader was first.
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

        /// Does nothing unless this reader has begun to read: what another reader reads is not ended.
        func leave() {
            if state.withLock({ $0 }) == .reading { channel.leave() }
        }

        func take(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> [Data]? {
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

/// Cuts what a reader gets into lines, and each line into something of the caller's choice.
///
/// A few lines at a time: each access to a piece's bytes has a price, and so has memory that was not just given back.
struct LineReader<Line: Sendable>: Sendable {
    private var reader: StreamReader
    private let make: Make
    private var splitter: LineSplitter
    private var piece = Data()
    /// Where the part of the piece begins that was not cut yet.
    private var position = 0
    /// The last first.
    private var ready: [Line] = []
    private var end: Result<Void, CurlewError>?

    /// Makes a line of its bytes, or of nothing that is to be left out. Most lines are a part of the piece that they come
    /// from.
    typealias Make = @Sendable (_ bytes: UnsafeRawBufferPointer, _ piece: Data) -> Line?

    /// So many lines are cut at once. The C library keeps the memory of as many at hand.
    private static var batch: Int { 7 }

    init(_ reader: StreamReader, maximumLength: Int, make: @escaping Make) {
        self.reader = reader
        self.make = make
        splitter = LineSplitter(maximumLength: maximumLength)
    }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> Line? {
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
            // While more is waited for, nothing of what was read stays in memory.
            (piece, position) = (Data(), 0)
            do throws(CurlewError) {
                if let next = try await reader.next() { piece = next } else { takeLast() }
            } catch {
                // Half a line is not the last one.
                end = .success(())
                throw error
            }
        }
    }

    /// The next line, where it ends in the piece that is there and the task was not cancelled.
    mutating func takeReady() -> Line? {
        guard !Task.isCancelled else { return nil }
        if let line = ready.popLast() { return line }
        guard position < piece.count else { return nil }
        cut(piece)
        return ready.popLast()
    }

    /// Whether something is there that was not handed on.
    private var hasReady: Bool { !ready.isEmpty || position < piece.count }

    /// No line follows, also of those that are there.
    mutating func leave() {
        (ready, piece, end) = ([], Data(), .success(()))
        reader.leave()
    }

    // An error comes after the lines before it.
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
