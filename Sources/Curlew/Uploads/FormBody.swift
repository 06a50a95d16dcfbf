internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The source from which a form is sent.
package enum FormStorage: Sendable {
    /// The form's parts, which are read while the form is sent.
    case none
    /// Memory, if the contents are shorter than `limit`. Otherwise a temporary file or, without `otherwiseInFile`, the
    /// form's parts.
    case memory(below: UInt64, otherwiseInFile: Bool)
}

/// The body of a form. It is created once, because a stream cannot be read again.
///
///     MultipartFormData ─▶ MultipartLayout ─▶ FormPosition ─┬─▶ FormStream    large files
///                                                           └─▶ FormProducer ─┬─▶ BodyPump        other parts
///                                                                             └─▶ forEachPiece    memory, a file
final class FormBody: Sendable {
    private let form: MultipartFormData
    private let storage: FormStorage
    private let made = Lock<Result<UploadRequest.Uploadable, CurlewError>?>(nil)

    init(_ form: MultipartFormData, storage: FormStorage = .none) {
        self.form = form
        self.storage = storage
    }

    /// Removes the temporary file of a request that never ran. After a run, its clean-up has removed the file.
    deinit {
        if case .success(let uploadable) = made.withLock({ $0 }) { uploadable.removeOwnFile() }
    }

    /// Creates the body on a file lane, because that reads files. `nil` if the form is sent from its parts.
    var preparation: (@Sendable () async -> Void)? {
        guard case .memory = storage else { return nil }
        return { await FileLane.next().carryOut { _ = try? self.uploadable() } }
    }

    func uploadable() throws(CurlewError) -> UploadRequest.Uploadable {
        if let made = made.withLock({ $0 }) { return try made.get() }
        // Without the lock, because this reads files. The attempts of a request do not overlap, so it is made once.
        let new: Result<UploadRequest.Uploadable, CurlewError>
        do throws(CurlewError) { new = .success(try make()) } catch { new = .failure(error) }
        made.withLock { $0 = $0 ?? new }
        return try new.get()
    }

    private func make() throws(CurlewError) -> UploadRequest.Uploadable {
        // Forms with a stream, which may block for long, or a throttle are always sent from their parts.
        guard case .memory(let limit, let otherwiseInFile) = storage, form.isReplayable, form.throttle == nil else {
            return UploadRequest.Uploadable(try form.body())
        }
        if form.contentLength < limit { return .data(try form.encoded()) }
        return otherwiseInFile ? try inFile() : UploadRequest.Uploadable(try form.body())
    }

    /// Writes the form to a file that only this user can read. It is removed when the request ends.
    private func inFile() throws(CurlewError) -> UploadRequest.Uploadable {
        // An incomplete form is useless: if this throws, the file is removed with its last reference.
        let file = try TemporaryFile.create(in: form.fileManager.temporaryDirectory.path)
        try form.forEachPiece { bytes, offset throws(CurlewError) in try file.write(bytes, at: offset) }
        file.keep()
        return .file(file.url, shouldRemove: true)
    }
}

/// The reading position in a form. Both ways of reading a form from its parts have one: `FormStream` and `FormProducer`.
struct FormPosition: Sendable {
    /// The source of the next bytes.
    enum Next: Sendable {
        /// Data in memory: delimiters, headers, or a part's data.
        case data(Data)
        /// The file or stream of a part, with at most `rest` bytes left.
        case content(MultipartPart, rest: UInt64)
        case end
    }

    private let layout: MultipartLayout
    private let parts: [MultipartPart]
    private var piece = 0
    /// The offset within the piece.
    private(set) var offset: UInt64 = 0

    init(layout: MultipartLayout, parts: [MultipartPart]) {
        self.layout = layout
        self.parts = parts
    }

    var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    mutating func restart() { (piece, offset) = (0, 0) }

    /// The source of the next bytes. Skips empty pieces.
    mutating func next() -> Next {
        while piece < layout.pieces.count {
            switch layout.pieces[piece] {
            case .framing(let data):
                if offset < data.count { return .data(data) }
            case .content(let index):
                let part = parts[index]
                if offset < part.length {
                    if case .data(let data) = part.content { return .data(data) }
                    return .content(part, rest: part.length - offset)
                }
            }
            (piece, offset) = (piece + 1, 0)
        }
        return .end
    }

    mutating func advance(by count: Int) { offset += UInt64(count) }

    /// Copies data in memory and advances the position.
    mutating func copy(_ data: Data, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let start = data.startIndex + Int(offset)
        let count = min(buffer.count, data.endIndex - start)
        data.copyBytes(to: buffer, from: start..<start + count)
        advance(by: count)
        return count
    }

    /// The error for a part that ended before its declared length.
    func endedEarly(_ part: MultipartPart) -> CurlewError {
        .formPartEnded(after: offset, of: part.length)
    }
}

/// A form of data and large files. It is read on the transport's loop while it is sent, like the file of a plain
/// upload.
///
/// Each file is opened on a file lane when it is needed, and closed there. Forms with small files or streams are read
/// ahead by a `BodyPump` instead, so that no part has to be waited for.
final class FormStream: BodyStream {
    private enum File: Sendable {
        case closed, opening
        case open(ReadableFile)
        case failed(CurlewError)
    }

    private struct State: Sendable {
        var position: FormPosition
        var file = File.closed
        /// Incremented by each start and close. A file that was opened for an earlier round is dropped.
        var round = 0
        var waker: (any BodyWaker)?
    }

    private enum Step {
        case copied(Int)
        case read(ReadableFile, MultipartPart, rest: UInt64, at: UInt64)
        case open(URL, round: Int)
        case wait, end
        case failed(CurlewError)
    }

    let isReplayable = true

    /// With smaller files, opening each one on the lane costs more than the copy that this class saves.
    private static let smallestAverage: UInt64 = 1 << 20

    private let state: Lock<State>
    private let lane = FileLane.next()

    /// Fails for a form that a `BodyPump` should read ahead.
    init?(_ position: FormPosition, of parts: [MultipartPart]) {
        var (files, size) = (UInt64(0), UInt64(0))
        for part in parts {
            switch part.content {
            case .data: break
            case .file: (files, size) = (files + 1, size + part.length)
            case .stream: return nil
            }
        }
        guard size / max(files, 1) >= Self.smallestAverage else { return nil }
        state = Lock(State(position: position))
    }

    // MARK: BodyStream

    func open(waker: any BodyWaker) { restart(waker) }

    func rewind() -> Bool {
        restart(state.withLock { $0.waker })
        return true
    }

    func close() { restart(nil) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        var done = 0
        while done < buffer.count {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            switch step(into: room) {
            case .copied(let count): done += count
            case .read(let file, let part, let rest, let offset):
                let wanted = Int(min(UInt64(room.count), rest))
                do throws(CurlewError) {
                    let count = try file.read(
                        into: UnsafeMutableRawBufferPointer(rebasing: room[..<wanted]), at: Int64(offset))
                    guard count > 0 else { return .failed(state.withLock { $0.position }.endedEarly(part)) }
                    done += count
                    advance(by: count, endsFile: count == rest)
                } catch {
                    return .failed(error)
                }
            case .open(let url, let round):
                lane.enqueue { self.openFile(url, round) }
                return done > 0 ? .bytes(done) : .pending
            case .wait: return done > 0 ? .bytes(done) : .pending
            case .end: return done > 0 ? .bytes(done) : .end
            case .failed(let error): return .failed(error)
            }
        }
        return .bytes(done)
    }

    // MARK: Steps

    /// Determines the next step. Copies data in memory at once.
    private func step(into room: UnsafeMutableRawBufferPointer) -> Step {
        // SAFETY: the lock calls its closure before it returns.
        nonisolated(unsafe) let room = room
        return state.withLock { state in
            switch state.position.next() {
            case .end: return .end
            case .data(let data): return .copied(state.position.copy(data, into: room))
            case .content(let part, let rest):
                switch state.file {
                case .open(let file): return .read(file, part, rest: rest, at: state.position.offset)
                case .opening: return .wait
                case .failed(let error): return .failed(error)
                case .closed:
                    guard case .file(let url) = part.content else { return .end }
                    state.file = .opening
                    return .open(url, round: state.round)
                }
            }
        }
    }

    private func advance(by count: Int, endsFile: Bool) {
        let done = state.withLock { state -> File in
            state.position.advance(by: count)
            return endsFile ? exchange(&state.file, with: .closed) : .closed
        }
        release(done)
    }

    /// Returns to the first byte and releases the open file. Without a waker, the body is closed.
    private func restart(_ waker: (any BodyWaker)?) {
        let (file, _) = state.withLock { state in
            state.round += 1
            state.position.restart()
            return (exchange(&state.file, with: .closed), exchange(&state.waker, with: waker))
        }
        release(file)
    }

    /// Releases an open file on the lane, because closing it may wait for a device.
    private func release(_ file: File) {
        guard case .open = file else { return }
        lane.enqueue { withExtendedLifetime(file) {} }
    }

    private func openFile(_ url: URL, _ round: Int) {
        let result: File
        do throws(CurlewError) { result = .open(try ReadableFile(url)) } catch { result = .failed(error) }
        let waker = state.withLock { state -> (any BodyWaker)? in
            guard state.round == round else { return nil }
            state.file = result
            return state.waker
        }
        waker?.wake()
    }
}

/// Reads a form from its parts, for `BodyPump` (small files, streams, a throttle) and for `forEachPiece`. Delimiters
/// and headers come from memory, contents from data, files and streams.
struct FormProducer: BodyProducer {
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
                position.advance(by: count)
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
