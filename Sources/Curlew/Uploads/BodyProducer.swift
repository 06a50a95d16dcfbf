public import CurlewCore
public import Foundation

/// Produces the bytes of a body, one buffer at a time. It may block, so it is never called on the transport's thread.
protocol BodyProducer {
    /// Whether `restart` can succeed after bytes have been produced.
    var isReplayable: Bool { get }

    /// Returns to the first byte.
    mutating func restart() throws(CurlewError)

    /// Fills the front of `buffer` and returns the number of bytes. 0 is the end.
    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int

    /// Closes open files and streams.
    mutating func stop()
}

/// Produces a body from an `InputStream`, once.
private struct InputStreamProducer: BodyProducer {
    private let stream: InputStream
    private var isOpened = false
    private var isSpent = false

    init(_ stream: sending InputStream) { self.stream = stream }

    var isReplayable: Bool { false }

    mutating func restart() throws(CurlewError) {
        // A stream that has not been read is still at its first byte.
        guard !isSpent else { throw Self.spent }
    }

    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int {
        if !isOpened {
            isOpened = true
            if stream.streamStatus == .notOpen { stream.open() }
        }
        isSpent = true
        guard let address = buffer.baseAddress else { return 0 }
        let count = stream.read(address.assumingMemoryBound(to: UInt8.self), maxLength: buffer.count)
        if count >= 0 { return count }
        // Foundation on Linux crashes when a stream without an error is asked for its error.
        let error = stream.streamStatus == .error ? stream.streamError : nil
        throw CurlewError(.bodyUnavailable, phase: .send, reason: "The input stream failed.", underlying: error)
    }

    mutating func stop() {
        if isOpened { stream.close() }
    }

    private static let spent = CurlewError(
        .bodyUnavailable,
        phase: .send,
        reason: "The body comes from an input stream that has been read already."
    )
}

extension BodySource {
    /// Creates a body from an input stream. It is read once, on a separate queue.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> BodySource {
        .stream(BodyPump(InputStreamProducer(stream)), length: length)
    }
}

/// Produces the bytes of a form: delimiters and headers from memory, contents from data, files and streams.
struct MultipartProducer: BodyProducer {
    private enum PartSource {
        case file(ReadableFile)
        case stream(InputStreamProducer)
    }

    private var position: FormPosition
    /// The open file or stream of the current part.
    private var source: PartSource?

    init(_ position: FormPosition) { self.position = position }

    var isReplayable: Bool { position.isReplayable }

    mutating func restart() {
        stop()
        position.restart()
    }

    mutating func stop() {
        if case .stream(var stream)? = source { stream.stop() }
        source = nil
    }

    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int {
        var done = 0
        while done < buffer.count {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            switch position.next() {
            case .end: return done
            case .data(let data): done += position.copy(data, into: room)
            case .content(let part, let rest):
                let wanted = Int(min(UInt64(room.count), rest))
                let count = try read(part, into: UnsafeMutableRawBufferPointer(rebasing: room[..<wanted]))
                guard count > 0 else { throw position.endedEarly(part) }
                done += count
                position.took(count)
                if count == rest {
                    stop()
                } else if case .stream? = source {
                    // A stream may block for a long time, so the bytes read so far are returned.
                    return done
                }
            }
        }
        return done
    }

    private mutating func read(
        _ part: MultipartPart,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(CurlewError) -> Int {
        if source == nil { source = try Self.open(part) }
        switch source {
        case .file(let file)?: return try file.read(into: buffer, at: Int64(position.offset))
        case .stream(var stream)?:
            defer { source = .stream(stream) }
            do throws(CurlewError) { return try stream.produce(into: buffer) } catch {
                throw .formNotRead(error.underlying ?? error)
            }
        case nil: return 0
        }
    }

    private static func open(_ part: MultipartPart) throws(CurlewError) -> PartSource? {
        switch part.content {
        case .data: return nil
        case .file(let url): return .file(try ReadableFile(url))
        case .stream(let shared):
            guard let stream = shared.take() else {
                throw CurlewError(
                    .bodyUnavailable,
                    phase: .send,
                    reason: "A part of the form comes from an input stream that has been read already."
                )
            }
            return .stream(InputStreamProducer(stream))
        }
    }
}

/// The file of a form's part, open for reading only. It is closed when the last copy is released.
struct ReadableFile: Sendable {
    private let file: OpenFile

    init(_ url: URL) throws(CurlewError) {
        do throws(CurlewError) { file = try .reading(url.path) } catch { throw Self.unreadable(error, in: .creation) }
    }

    /// Fills `buffer` from `offset`, up to the end of the file. Returns the number of bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(CurlewError) -> Int {
        do throws(CurlewError) { return try file.read(into: buffer, at: offset) } catch {
            throw Self.unreadable(error, in: .file)
        }
    }

    private static func unreadable(_ failure: CurlewError, in phase: CurlewError.Phase) -> CurlewError {
        let number = failure.native.flatMap { Int32(exactly: $0.number) }
        return CurlewError(
            .fileUnreadable,
            phase: phase,
            reason: failure.reason,
            underlying: number.flatMap(POSIXErrorCode.init(rawValue:)).map { POSIXError($0) },
            native: failure.native
        )
    }
}
