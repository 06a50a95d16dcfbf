internal import CurlewCore
internal import Foundation

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
