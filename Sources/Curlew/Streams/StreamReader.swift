internal import CurlewCore
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
        if let piece = pieces.popLast(), !Task.isCancelled { return piece }
        pieces = []
        guard var taken = try await place.take() else { return nil }
        if taken.count > 1 { taken.reverse() }
        let piece = taken.popLast()
        pieces = taken
        return piece
    }

    func leave() { place.channel.leave() }

    /// The place at the channel, which goes with the last copy of its reader.
    private final class Place: Sendable {
        let channel: BodyChannel
        private let start: @Sendable () -> Void

        init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
            self.channel = channel
            self.start = start
        }

        deinit { channel.leave() }

        func take(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> [Data]? {
            start()
            return try await channel.take()
        }
    }
}

/// Cuts what a reader gets into lines, and each line into something of the caller's choice.
struct LineReader<Line: Sendable>: Sendable {
    private var reader: StreamReader
    private let make: Make
    private var splitter: LineSplitter
    /// The last first.
    private var ready: [Line] = []
    private var end: Result<Void, CurlewError>?

    /// Makes a line of its bytes, or of nothing that is to be left out. Most lines are a part of the piece that they come
    /// from.
    typealias Make = @Sendable (_ bytes: UnsafeRawBufferPointer, _ piece: Data) -> Line?

    init(_ reader: StreamReader, maximumLength: Int, make: @escaping Make) {
        self.reader = reader
        self.make = make
        splitter = LineSplitter(maximumLength: maximumLength)
    }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> Line? {
        while true {
            if let line = takeReady() { return line }
            if let end {
                self.end = .success(())
                try end.get()
                return nil
            }
            if let chunk = try await reader.next() { take(chunk) } else { takeLast() }
        }
    }

    /// A line that was cut already.
    mutating func takeReady() -> Line? { ready.popLast() }

    func leave() { reader.leave() }

    // An error comes after the lines before it.
    private mutating func take(_ chunk: Data) {
        chunk.withUnsafeBytes { bytes in
            do throws(CurlewError) {
                try splitter.split(bytes) { if let line = make($0, chunk) { ready.append(line) } }
            } catch {
                end = .failure(error)
                reader.leave()
            }
        }
        ready.reverse()
    }

    private mutating func takeLast() {
        do throws(CurlewError) {
            try splitter.finish { if let line = make($0, Data()) { ready.append(line) } }
            end = .success(())
        } catch {
            end = .failure(error)
        }
    }
}
