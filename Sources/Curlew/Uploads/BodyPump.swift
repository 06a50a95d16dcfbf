internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// A body that is read ahead, two buffers at a time, on a separate queue: files and input streams block, and the
/// transport's thread must not.
///
///     queue:               producer ──produce──▶ deliver ──▶ filled (at most two buffers)
///                                                   │ wake, if the reader waits      │
///     transport's thread:                           └───────────────────▶ read ◀─────┘
///                                                                           │
///     queue:               fillNow ◀── fill, if there is room again ────────┘
///
/// A round begins with each start of the body from its beginning, and ends with `close()` or the next start. Work that
/// the queue still does for an earlier round has no effect.
final class BodyPump: BodyStream {
    private struct State: Sendable {
        /// Incremented by each start and close. Results of an earlier round are dropped.
        var round = 0
        var filled: [Data] = []
        /// The number of bytes of the first buffer that have been read.
        var offset = 0
        var isFilling = false
        var readerWaits = false
        /// Whether the producer has been asked for bytes.
        var hasBegun = false
        var hasBeenRead = false
        var end: BodyRead?
        var waker: (any BodyWaker)?
    }

    let isReplayable: Bool

    private static let bufferSize = 128 * 1024
    private static let readAhead = 2

    private let state = Lock(State())
    // SAFETY: used by the queue's blocks only, one at a time.
    private nonisolated(unsafe) var producer: any BodyProducer
    // Locked and unlocked before and after each block, which makes the work of one block visible to the next. Not held
    // during the block, because the producer may call a user's stream.
    private let fence = Lock(false)
    private let queue = DispatchQueue(label: "curlew.body")
    private let throttle: BodyThrottle?

    init(_ producer: sending any BodyProducer, throttle: BodyThrottle? = nil) {
        isReplayable = producer.isReplayable
        self.producer = producer
        self.throttle = throttle
    }

    func open(waker: any BodyWaker) {
        if isReplayable { return begin(waker) }
        // A body that can be read only once is not read before the peer wants it, so that it can still be sent after a
        // connection has failed.
        _ = state.withLock { state in
            if state.hasBegun { state.end = .failed(Self.spent) }
            return exchange(&state.waker, with: waker)
        }
    }

    func rewind() -> Bool {
        let (waker, isUntouched) = state.withLock { ($0.waker, !$0.hasBeenRead) }
        if isUntouched { return true }
        guard isReplayable else { return false }
        begin(waker)
        return true
    }

    func close() {
        _ = state.withLock { state in
            state.round += 1
            state.filled = []
            state.isFilling = false
            return exchange(&state.waker, with: nil)
        }
        queue.async { [self] in withProducer { $0.stop() } }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let (answer, round): (BodyRead, Int?) = state.withLock { state in
            guard let first = state.filled.first else {
                if let end = state.end { return (end, nil) }
                state.readerWaits = true
                if !state.hasBegun {
                    state.hasBegun = true
                    state.isFilling = true
                    return (.pending, state.round)
                }
                return (.pending, wantsFilling(&state))
            }
            let count = min(buffer.count, first.count - state.offset)
            let start = first.startIndex + state.offset
            first.copyBytes(to: buffer, from: start..<start + count)
            state.hasBeenRead = true
            state.offset += count
            if state.offset == first.count {
                state.filled.removeFirst()
                state.offset = 0
            }
            return (.bytes(count), wantsFilling(&state))
        }
        if let round { fill(round) }
        return answer
    }

    /// Returns the round of a filling that the caller has to start; `nil` if there is no room, or one is under way.
    private func wantsFilling(_ state: inout State) -> Int? {
        guard !state.isFilling, state.end == nil, state.filled.count < Self.readAhead else { return nil }
        state.isFilling = true
        return state.round
    }

    private func begin(_ waker: (any BodyWaker)?) {
        let (round, _) = state.withLock { state in
            let next = State(round: state.round + 1, isFilling: true, hasBegun: true, waker: waker)
            return (next.round, exchange(&state, with: next))
        }
        queue.async { [self] in
            guard isCurrent(round) else { return }
            do throws(CurlewError) {
                try withProducer { producer throws(CurlewError) in try producer.restart() }
                fillNow(round)
            } catch {
                settle(round, .failed(error))
            }
        }
    }

    private static let spent = CurlewError(
        .bodyUnavailable,
        phase: .send,
        reason: "The body comes from a stream that has been read already."
    )

    private func fill(_ round: Int) {
        let delay = throttle?.delay ?? 0
        if delay > 0 {
            queue.asyncAfter(deadline: .now() + delay) { [self] in fillNow(round) }
        } else {
            queue.async { [self] in fillNow(round) }
        }
    }

    private func isCurrent(_ round: Int) -> Bool { state.withLock { $0.round == round && $0.end == nil } }

    private func fillNow(_ round: Int) {
        while isCurrent(round) {
            let size = min(throttle?.packetSize ?? Self.bufferSize, Self.bufferSize)
            var buffer = Data(count: size)
            do throws(CurlewError) {
                let count = try withProducer { producer throws(CurlewError) in
                    try produce(from: &producer, into: &buffer)
                }
                guard count > 0 else { return settle(round, .end) }
                if !deliver(buffer.prefix(count), round) { return }
            } catch {
                return settle(round, .failed(error))
            }
        }
    }

    /// Runs `body` with the producer. Call it on the queue.
    private func withProducer<R, E: Error>(_ body: (inout any BodyProducer) throws(E) -> R) throws(E) -> R {
        fence.withLock { _ in }
        defer { fence.withLock { _ in } }
        return try body(&producer)
    }

    private func produce(from producer: inout any BodyProducer, into data: inout Data) throws(CurlewError) -> Int {
        // `withUnsafeMutableBytes` has no typed throws.
        let result: Result<Int, CurlewError> = data.withUnsafeMutableBytes { buffer in
            do throws(CurlewError) { return .success(try producer.produce(into: buffer)) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Stores a buffer for the reader. Returns whether the caller should fill another one at once.
    private func deliver(_ data: Data, _ round: Int) -> Bool {
        let (goesOn, waker): (Bool, (any BodyWaker)?) = state.withLock { state in
            guard state.round == round else { return (false, nil) }
            state.filled.append(data)
            let goesOn = state.filled.count < Self.readAhead && throttle == nil
            state.isFilling = goesOn
            defer { state.readerWaits = false }
            return (goesOn, state.readerWaits ? state.waker : nil)
        }
        waker?.wake()
        return goesOn
    }

    private func settle(_ round: Int, _ end: BodyRead) {
        let waker: (any BodyWaker)? = state.withLock { state in
            guard state.round == round else { return nil }
            state.end = end
            state.isFilling = false
            return state.waker
        }
        waker?.wake()
    }
}

/// Limits the speed of a body with a pause after each packet.
struct BodyThrottle: Sendable, Hashable {
    let packetSize: Int
    let delay: TimeInterval
}
