internal import CurlewCore
internal import Foundation

/// One reader of a streamed body. When it is released, the transfer is cancelled: leaving a loop
/// is enough.
final class StreamReader: Sendable {
    private let channel: BodyChannel
    private let start: @Sendable () -> Void

    /// `start` is called before every read, and starts the run at the first.
    init(_ channel: BodyChannel, start: @escaping @Sendable () -> Void) {
        self.channel = channel
        self.start = start
    }

    deinit { channel.leave() }

    func next(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> Data? {
        start()
        return try await channel.next()
    }

    func leave() { channel.leave() }
}

/// Cuts what a reader gets into lines, and each line into something of the caller's choice.
struct LineReader<Line: Sendable>: Sendable {
    private let reader: StreamReader
    private let make: @Sendable (UnsafeRawBufferPointer) -> Line?
    private var splitter: LineSplitter
    private var ready: [Line] = []
    private var next = 0
    private var end: Result<Void, CurlewError>?

    /// Lines for which `make` answers nil are left out.
    init(
        _ reader: StreamReader,
        maximumLength: Int,
        make: @escaping @Sendable (UnsafeRawBufferPointer) -> Line?
    ) {
        self.reader = reader
        self.make = make
        splitter = LineSplitter(maximumLength: maximumLength)
    }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> Line? {
        while true {
            if next < ready.count {
                defer { next += 1 }
                return ready[next]
            }
            ready.removeAll(keepingCapacity: true)
            next = 0
            if let end {
                self.end = .success(())
                try end.get()
                return nil
            }
            if let chunk = try await reader.next() { take(chunk) } else { takeLast() }
        }
    }

    // An error comes after the lines before it.
    private mutating func take(_ chunk: Data) {
        chunk.withUnsafeBytes { bytes in
            do throws(CurlewError) {
                try splitter.split(bytes) { if let line = make($0) { ready.append(line) } }
            } catch {
                end = .failure(error)
                reader.leave()
            }
        }
    }

    private mutating func takeLast() {
        do throws(CurlewError) {
            try splitter.finish { if let line = make($0) { ready.append(line) } }
            end = .success(())
        } catch {
            end = .failure(error)
        }
    }
}
