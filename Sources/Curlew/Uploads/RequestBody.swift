public import CurlewCore
internal import CurlewLocks
public import Foundation

/// The body of a request whose response is streamed.
///
///     session.streamRequest(url, method: .post, body: .file(recording)).lines
///
/// The body is read while it is sent. Its exact length is sent if it is known.
public struct RequestBody: Sendable {
    /// The content type of a form, with its boundary. `nil` for bodies whose type Curlew does not know.
    let contentType: String?
    /// Creates the body of each attempt.
    let makeUploadable: @Sendable () throws -> UploadRequest.Uploadable

    /// Data in memory.
    public static func data(_ data: Data) -> RequestBody {
        RequestBody(contentType: nil) { .data(data) }
    }

    /// A file. Its length is determined at the beginning of each attempt.
    public static func file(_ url: URL) -> RequestBody {
        RequestBody(contentType: nil) { .file(url, shouldRemove: false) }
    }

    /// The chunks of a sequence. The next chunk is requested when the server has taken the last one.
    ///
    /// The sequence is read once, so the request cannot be retried and cannot follow a redirect that keeps the body.
    /// Use `sequence(length:_:)` for a body that can be sent again. `length` is the number of all bytes, or `nil` if
    /// unknown.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S, length: Int64? = nil) -> RequestBody
    where S.Element == Data {
        let body = UploadRequest.Uploadable(BodySource.sequence(sequence, length: length))
        return RequestBody(contentType: nil) { body }
    }

    /// The chunks of a sequence that `make` creates again whenever the body is sent again: for a retry, a redirect with
    /// 307 or 308, or a challenge.
    ///
    ///     session.streamRequest(url, method: .post, body: .sequence { Rows(of: table) }).lines
    ///
    /// `make` must create equal bytes each time. `length` is the number of all bytes, or `nil` if unknown. The sequence
    /// runs with the task-local values of the requesting task, unless the body is sent again within an exchange, for
    /// example after a challenge that libcurl answers.
    public static func sequence<S: AsyncSequence & Sendable>(
        length: Int64? = nil,
        _ make: @escaping @Sendable () -> S
    ) -> RequestBody where S.Element == Data {
        RequestBody(contentType: nil) { .stream(RemadeSequenceBody(make), length: length) }
    }

    /// A form, as it is when its first `URLRequest` has been created; retries send equal bytes. Sets `Content-Type`.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        let body = FormBody(form)
        return RequestBody(contentType: form.contentType) { try body.uploadable() }
    }
}

/// A body whose code runs with the task-local values of the requesting task, although the transport's thread reads it.
protocol TaskBoundBody: BodyStream {
    /// Called in the request's task before an exchange. Creates the task that will run the code.
    func bind()
    /// Called after the exchange. Ends a task that was created for it but has not begun.
    func unbind()
}

/// A body from an asynchronous sequence. The next chunk is requested only when the peer has taken the last one.
final class SequenceBodyStream<Source: AsyncSequence & Sendable>: TaskBoundBody where Source.Element == Data {
    private struct State: Sendable {
        var chunk = Data()
        var offset = 0
        var end: BodyRead?
        var waker: (any BodyWaker)?
        /// Whether the peer has asked for the body. The sequence is not created before.
        var isStarted = false
        var hasBeenRead = false
        var isClosed = false
        /// Whether the reader has read all bytes of the chunk.
        var isDemanded = true
        var pump: CheckedContinuation<Bool, Never>?
        /// Incremented when an opening or an exchange ends without having started the sequence. A task of an earlier
        /// binding then ends.
        var binding = 0
        /// The task that reads the sequence. `close()` cancels it, because the sequence may be waiting for its next
        /// chunk.
        var task: ExchangeTask?
    }

    private let makeSource: @Sendable () -> Source
    private let state = Lock(State())

    /// `makeSource` is called in the task that reads the sequence, when the peer first asks for the body.
    init(_ makeSource: @escaping @Sendable () -> Source) { self.makeSource = makeSource }

    var isReplayable: Bool { false }

    func open(waker: any BodyWaker) {
        _ = state.withLock { state in
            if state.isStarted { state.end = .failed(Self.spent) }
            return exchange(&state.waker, with: waker)
        }
    }

    func rewind() -> Bool { state.withLock { !$0.hasBeenRead } }

    func close() {
        // The chunk and the waker are released outside of the lock: the deallocator of a `Data` can be the user's code.
        let (pump, task, _, _) = state.withLock { state in
            // A body that was not started can be opened again. A task that was created for it and has not begun must
            // not serve that opening, which may have another task.
            if state.isStarted { state.isClosed = true } else { state.binding += 1 }
            return (
                exchange(&state.pump, with: nil), exchange(&state.task, with: nil), exchange(&state.waker, with: nil),
                exchange(&state.chunk, with: Data())
            )
        }
        pump?.resume(returning: false)
        task?.cancel()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let (unbound, bound) = state.withLock { state -> (Int?, CheckedContinuation<Bool, Never>?) in
            let isFirst = !state.isStarted
            state.isStarted = true
            // The task that `bind()` has created waits for the first read.
            guard isFirst else { return (nil, nil) }
            return (state.task == nil ? state.binding : nil, exchange(&state.pump, with: nil))
        }
        bound?.resume(returning: true)
        if let unbound { start(unbound) }
        let (answer, pump, _): (BodyRead, CheckedContinuation<Bool, Never>?, Data?) = state.withLock { state in
            guard !state.chunk.isEmpty else { return (state.end ?? .pending, nil, nil) }
            state.hasBeenRead = true
            let count = min(buffer.count, state.chunk.count - state.offset)
            let start = state.chunk.startIndex + state.offset
            state.chunk.copyBytes(to: buffer, from: start..<start + count)
            state.offset += count
            guard state.offset == state.chunk.count else { return (.bytes(count), nil, nil) }
            state.offset = 0
            state.isDemanded = true
            return (.bytes(count), exchange(&state.pump, with: nil), exchange(&state.chunk, with: Data()))
        }
        pump?.resume(returning: true)
        return answer
    }

    /// Starts the task if `bind()` has created none, as for a transport that is used without a request.
    private func start(_ binding: Int) {
        let task = ExchangeTask()
        let isWanted = state.withLock { state in
            if !state.isClosed { state.task = task }
            return !state.isClosed
        }
        if isWanted { task.start { await self.pump(binding) } }
    }

    /// Passes chunks from the sequence to the reader until either ends.
    private func pump(_ binding: Int) async {
        // The sequence is not created before its bytes are wanted, because creating an iterator can begin its work.
        guard await isWanted(binding) else { return }
        var iterator = makeSource().makeAsyncIterator()
        do {
            while await isWanted(binding) {
                guard let chunk = try await iterator.next() else { return settle(.end) }
                // An empty chunk is not the end of the body, and cannot be passed to the reader.
                if !chunk.isEmpty { deliver(chunk) }
            }
            // A sequence notices an early end only if `next()` runs in a cancelled task. `close()` may have been called
            // between two calls of `next()`; without this last call a producer could wait for room for ever.
            _ = try await iterator.next()
        } catch {
            settle(
                .failed(
                    CurlewError(
                        .bodyUnavailable,
                        phase: .send,
                        reason: "The sequence that the body comes from failed.",
                        underlying: error
                    )
                )
            )
        }
    }

    private func isWanted(_ binding: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.isClosed || state.binding != binding { return false }
                if state.isDemanded, state.isStarted { return true }
                state.pump = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func deliver(_ chunk: Data) {
        let waker = state.withLock { state in
            state.chunk = chunk
            state.offset = 0
            state.isDemanded = false
            return state.waker
        }
        waker?.wake()
    }

    private func settle(_ end: BodyRead) {
        let waker = state.withLock { state in
            if state.end == nil { state.end = end }
            return state.waker
        }
        waker?.wake()
    }

    // MARK: TaskBoundBody

    func bind() {
        let binding = state.withLock { state in state.isStarted || state.task != nil ? nil : state.binding }
        guard let binding else { return }
        let task = ExchangeTask()
        state.withLock { $0.task = task }
        task.start { await self.pump(binding) }
    }

    func unbind() {
        let (pump, _) = state.withLock { state in
            guard !state.isStarted else { return (nil as CheckedContinuation<Bool, Never>?, nil as ExchangeTask?) }
            state.binding += 1
            return (exchange(&state.pump, with: nil), exchange(&state.task, with: nil))
        }
        pump?.resume(returning: false)
    }

    private static var spent: CurlewError {
        CurlewError(
            .bodyUnavailable,
            phase: .send,
            reason: "The body comes from a sequence that has been read already."
        )
    }
}

extension BodySource {
    /// Creates a body from an asynchronous sequence. It is read once, as fast as the peer takes it.
    public static func sequence<Source: AsyncSequence & Sendable>(_ source: Source, length: Int64? = nil) -> BodySource
    where Source.Element == Data {
        .stream(SequenceBodyStream { source }, length: length)
    }
}

/// A body from a sequence that is created again whenever the body is sent again.
///
/// Each sending reads a separate `SequenceBodyStream`; when it ends, a new one replaces it. The sequence of an exchange
/// runs with the task-local values of the requesting task. If libcurl rewinds the body within an exchange, the new
/// sequence runs without them, because the transport's thread starts it.
final class RemadeSequenceBody<Source: AsyncSequence & Sendable>: TaskBoundBody where Source.Element == Data {
    private struct State: Sendable {
        var current: SequenceBodyStream<Source>
        var waker: (any BodyWaker)?
    }

    private let makeSource: @Sendable () -> Source
    private let state: Lock<State>

    init(_ makeSource: @escaping @Sendable () -> Source) {
        self.makeSource = makeSource
        state = Lock(State(current: SequenceBodyStream(makeSource)))
    }

    private var current: SequenceBodyStream<Source> { state.withLock { $0.current } }

    var isReplayable: Bool { true }

    func open(waker: any BodyWaker) {
        let (current, _) = state.withLock { ($0.current, exchange(&$0.waker, with: waker)) }
        current.open(waker: waker)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { current.read(into: buffer) }

    func rewind() -> Bool {
        if current.rewind() { return true }
        let fresh = SequenceBodyStream(makeSource)
        let (former, waker) = state.withLock { (exchange(&$0.current, with: fresh), $0.waker) }
        former.close()
        if let waker { fresh.open(waker: waker) }
        return true
    }

    func close() {
        let fresh = SequenceBodyStream(makeSource)
        // Both are replaced in one step. As soon as the new stream is in place the next sending may open it, and its
        // waker must not be lost.
        let (former, _) = state.withLock { (exchange(&$0.current, with: fresh), exchange(&$0.waker, with: nil)) }
        former.close()
    }

    func bind() { current.bind() }

    func unbind() { current.unbind() }
}
