internal import CurlewCore
internal import CurlewFailures
internal import Foundation

/// The bytes of a form: delimiters and headers from memory, contents from wherever they are.
struct MultipartProducer: BodyProducer {
    private let layout: MultipartLayout
    private let parts: [MultipartPart]
    private var piece = 0
    private var offset: UInt64 = 0
    private var source: PartSource?

    private enum PartSource {
        case data(Data)
        case file(ReadableFile)
        case stream(InputStreamProducer)
    }

    init(layout: MultipartLayout, parts: [MultipartPart]) {
        self.layout = layout
        self.parts = parts
    }

    var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    mutating func restart() {
        stop()
        piece = 0
    }

    mutating func stop() {
        if case .stream(var stream)? = source { stream.stop() }
        source = nil
        offset = 0
    }

    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int {
        var done = 0
        while done < buffer.count, piece < layout.pieces.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let (count, isWhole) = try produceOnce(into: rest)
            done += count
            offset += UInt64(count)
            if isWhole {
                stop()
                piece += 1
            } else if case .stream? = source {
                // A stream may block for long: what there is goes out.
                if done > 0 { break }
            }
        }
        return done
    }

    /// How many bytes came, and whether they were the piece's last.
    private mutating func produceOnce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> (Int, Bool) {
        switch layout.pieces[piece] {
        case .framing(let data): return copy(data, into: buffer)
        case .content(let index):
            let part = parts[index]
            if case .data(let data) = part.content { return copy(data, into: buffer) }
            guard offset < part.length else { return (0, true) }
            let room = Int(min(UInt64(buffer.count), part.length - offset))
            let limited = UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])
            let count = try read(part, into: limited)
            guard count > 0 else {
                throw Self.unreadable(
                    CurlewError.UnexpectedInputStreamLength(bytesExpected: part.length, bytesRead: offset)
                )
            }
            return (count, offset + UInt64(count) == part.length)
        }
    }

    private func copy(_ data: Data, into buffer: UnsafeMutableRawBufferPointer) -> (Int, Bool) {
        let start = data.startIndex + Int(offset)
        let count = min(buffer.count, data.endIndex - start)
        data.copyBytes(to: buffer, from: start..<start + count)
        return (count, start + count == data.endIndex)
    }

    private mutating func read(
        _ part: MultipartPart,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(CurlewError) -> Int {
        if source == nil { source = try Self.open(part) }
        switch source {
        case .file(let file)?: return try file.read(into: buffer, at: Int64(offset))
        case .stream(var stream)?:
            defer { source = .stream(stream) }
            do throws(CurlewError) { return try stream.produce(into: buffer) } catch {
                throw Self.unreadable(error.underlying ?? error)
            }
        case .data?, nil: return 0
        }
    }

    private static func open(_ part: MultipartPart) throws(CurlewError) -> PartSource {
        switch part.content {
        case .data(let data): return .data(data)
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

    private static func unreadable(_ error: any Error) -> CurlewError {
        .multipartEncodingFailed(reason: .inputStreamReadFailed(error: error))
    }
}
