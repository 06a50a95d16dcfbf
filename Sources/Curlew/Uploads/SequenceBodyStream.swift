public import CurlewCore
internal import CurlewLocks
public import Foundation

/// A body whose bytes come from code that is to run with the task-local values of the request's task, although the transport's
/// thread asks for them.
protocol TaskBoundBody: BodyStream {
    /// In the request's task, before an exchange.
    func bind()
    /// After it: what was made for it and has not begun ends.
    func unbind()
}

/// A body from an asynchronous sequence, which is pulled only when the peer has taken what came before.
final class SequenceBodyStream<Source: AsyncSequence & Sendable>: TaskBoundBody where Source.Element == Data {
    private struct State: Sendable {
        var chunk = Data()
        var offset = 0
        var end: BodyRead?
        var waker: (any BodyWaker)?
        /// The sequence has been asked for something: not before the peer wants the body.
        var isStarted = false
        var hasBeenRead = false
        var isClosed = false
        /// The reader has nothing left.
        var isDemanded = true
        var pump: CheckedContinuation<Bool, Never>?
        /// Counts the exchanges that the task was made for: one that has not begun ends with its exchange.
        var binding = 0
        /// Carries the chunks. The sequence may be waiting for its next one when it is not wanted any more.
        var task: Task<Void, Never>?
    }

    private let makeSource: @Sendable () -> Source
    private let state = Lock(State())

    /// `makeSource` is called in the task that reads the sequence, once the peer wants the body.
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
        // The chunk and the waker go without the lock: `Data` can have a deallocator of the user's.
        let (pump, task, _, _) = state.withLock { state in
            state.isClosed = state.isStarted
            return (
                exchange(&state.pump, with: nil), exchange(&state.task, with: nil), exchange(&state.waker, with: nil),
                exchange(&state.chunk, with: Data())
            )
        }
        pump?.resume(returning: false)
        task?.cancel()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let (isFirst, bound) = state.withLock { state in
            let isFirst = !state.isStarted
            state.isStarted = true
            // A task that was made ahead waits for this.
            return (isFirst && state.task == nil, isFirst ? exchange(&state.pump, with: nil) : nil)
        }
        bound?.resume(returning: true)
        if isFirst { start() }
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

    /// Without a task that was made ahead: the transport is used by itself.
    private func start() {
        let task = BodyTask.start { await self.pump(0) }
        let isClosed = state.withLock { state in
            if !state.isClosed { state.task = task }
            return state.isClosed
        }
        if isClosed { task.cancel() }
    }

    /// Carries chunks from the sequence to the reader until either ends.
    private func pump(_ binding: Int) async {
        // Not before it is wanted: making an iterator can begin the work.
        guard await isWanted(binding) else { return }
        var iterator = makeSource().makeAsyncIterator()
        do {
            while await isWanted(binding) {
                guard let chunk = try await iterator.next() else { return settle(.end) }
                // An empty chunk is no end, and nothing that the reader could be given.
                if !chunk.isEmpty { deliver(chunk) }
            }
            // A sequence learns of an end before its own by being asked in a task that is cancelled: `close()` may have come
            // between two questions, and then a producer would wait for ever for room.
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

    // MARK: The task of the request

    func bind() {
        let binding = state.withLock { state in state.isStarted || state.task != nil ? nil : state.binding }
        guard let binding else { return }
        let task = BodyTask.start { await self.pump(binding) }
        state.withLock { $0.task = task }
    }

    func unbind() {
        let (pump, _) = state.withLock { state in
            guard !state.isStarted else { return (nil as CheckedContinuation<Bool, Never>?, nil as Task<Void, Never>?) }
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
    /// A body from an asynchronous sequence: pulled as fast as the peer takes it, once.
    public static func sequence<Source: AsyncSequence & Sendable>(_ source: Source, length: Int64? = nil) -> BodySource
    where Source.Element == Data {
        .stream(SequenceBodyStream { source }, length: length)
    }
}
