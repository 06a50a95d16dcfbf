public import CurlewCore
internal import CurlewLocks
public import Foundation

extension BodySource {
    /// Creates a body from an asynchronous sequence. It is read once, as fast as the peer takes it.
    public static func sequence<Source: AsyncSequence & Sendable>(_ source: Source, length: Int64? = nil) -> BodySource
    where Source.Element == Data {
        .stream(SequenceBodyStream { source }, length: length)
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
///
///     request's task:      bind ─▶ starts the task of the body              unbind
///     task of the body:    wait ────▶ makeSource ─▶ next ─▶ deliver ─▶ wait ─▶ next ─▶ …
///                            ▲                               │ wake      ▲
///     transport's thread:  first read                        └─▶ read … ─┘        close: cancels the task
///
/// A round begins with `bind()`, or with the first read if that was not called. It ends with `close()`, or with
/// `unbind()` before the first read. The task of an ended round ends, and has no effect. A body that is closed before
/// its first read is untouched and can be opened again. After the first read it cannot.
final class SequenceBodyStream<Source: AsyncSequence & Sendable>: TaskBoundBody where Source.Element == Data {
    private struct State: Sendable {
        /// Empty if the next chunk is wanted.
        var chunk = Data()
        /// The number of bytes of the chunk that have been read.
        var offset = 0
        var end: BodyRead?
        var waker: (any BodyWaker)?
        /// Whether the peer has asked for the body. The sequence is not created before.
        var hasBegun = false
        var hasBeenRead = false
        /// The task while it waits for a read. Resumed with `false` if it has to end.
        var waiter: CheckedContinuation<Bool, Never>?
        /// Incremented by each close, and by an exchange that ends before the first read. The task of an earlier round
        /// ends, because the next exchange may have other task-local values, and its results are dropped.
        var round = 0
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
            if state.hasBegun { state.end = .failed(Self.spent) }
            return exchange(&state.waker, with: waker)
        }
    }

    func rewind() -> Bool { state.withLock { !$0.hasBeenRead } }

    func close() {
        // The chunk and the waker are released outside of the lock: the deallocator of a `Data` can be the user's code.
        let (waiter, task, _, _) = state.withLock { state in
            state.round += 1
            return (
                exchange(&state.waiter, with: nil), exchange(&state.task, with: nil), exchange(&state.waker, with: nil),
                exchange(&state.chunk, with: Data())
            )
        }
        waiter?.resume(returning: false)
        task?.cancel()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        beginSequence()
        let (answer, waiter, _): (BodyRead, CheckedContinuation<Bool, Never>?, Data?) = state.withLock { state in
            guard !state.chunk.isEmpty else { return (state.end ?? .pending, nil, nil) }
            state.hasBeenRead = true
            let count = min(buffer.count, state.chunk.count - state.offset)
            let start = state.chunk.startIndex + state.offset
            state.chunk.copyBytes(to: buffer, from: start..<start + count)
            state.offset += count
            guard state.offset == state.chunk.count else { return (.bytes(count), nil, nil) }
            state.offset = 0
            return (.bytes(count), exchange(&state.waiter, with: nil), exchange(&state.chunk, with: Data()))
        }
        waiter?.resume(returning: true)
        return answer
    }

    /// At the first read, lets the task begin that `bind()` has started. Starts one if there is none, as for a transport
    /// that is used without a request.
    private func beginSequence() {
        let (round, waiter) = state.withLock { state -> (Int?, CheckedContinuation<Bool, Never>?) in
            guard !state.hasBegun else { return (nil, nil) }
            state.hasBegun = true
            return (state.task == nil ? state.round : nil, exchange(&state.waiter, with: nil))
        }
        waiter?.resume(returning: true)
        guard let round else { return }
        let task = ExchangeTask()
        let isCurrent = state.withLock { state in
            if state.round == round { state.task = task }
            return state.round == round
        }
        if isCurrent { task.start { await self.passChunks(round) } }
    }

    /// Passes chunks from the sequence to the reader until either ends.
    private func passChunks(_ round: Int) async {
        // The sequence is not created before its bytes are wanted, because creating an iterator can begin its work.
        guard await untilWanted(round) else { return }
        var iterator = makeSource().makeAsyncIterator()
        do {
            while await untilWanted(round) {
                guard let chunk = try await iterator.next() else { return endRound(round, with: .end) }
                // An empty chunk is not the end of the body, and cannot be passed to the reader.
                if !chunk.isEmpty { deliver(chunk, round) }
            }
            // A sequence notices an early end only if `next()` runs in a cancelled task. `close()` may have been called
            // between two calls of `next()`; without this last call a producer could wait for room for ever.
            _ = try await iterator.next()
        } catch {
            endRound(
                round,
                with: .failed(
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

    /// Waits until the next chunk is wanted. Returns `false` if the task has to end.
    private func untilWanted(_ round: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.round != round { return false }
                if state.chunk.isEmpty, state.hasBegun { return true }
                state.waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func deliver(_ chunk: Data, _ round: Int) {
        let waker: (any BodyWaker)? = state.withLock { state in
            guard state.round == round else { return nil }
            state.chunk = chunk
            state.offset = 0
            return state.waker
        }
        waker?.wake()
    }

    private func endRound(_ round: Int, with end: BodyRead) {
        let waker: (any BodyWaker)? = state.withLock { state in
            guard state.round == round else { return nil }
            if state.end == nil { state.end = end }
            return state.waker
        }
        waker?.wake()
    }

    // MARK: TaskBoundBody

    func bind() {
        let task = ExchangeTask()
        let round = state.withLock { state -> Int? in
            guard !state.hasBegun, state.task == nil else { return nil }
            state.task = task
            return state.round
        }
        if let round { task.start { await self.passChunks(round) } }
    }

    func unbind() {
        let (waiter, _) = state.withLock { state in
            guard !state.hasBegun else { return (nil as CheckedContinuation<Bool, Never>?, nil as ExchangeTask?) }
            state.round += 1
            return (exchange(&state.waiter, with: nil), exchange(&state.task, with: nil))
        }
        waiter?.resume(returning: false)
    }

    private static var spent: CurlewError {
        CurlewError(
            .bodyUnavailable,
            phase: .send,
            reason: "The body comes from a sequence that has been read already."
        )
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
