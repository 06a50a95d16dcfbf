public import CurlewCore
internal import CurlewLocks
internal import Dispatch
public import Foundation

extension BodySource {
    /// Creates a body from an input stream. It is read once, on a separate queue.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> BodySource {
        .stream(BodyPump(InputStreamProducer(stream)), length: length)
    }
}

/// A body that is read ahead, two buffers at a time, on a separate queue: files and input streams block, and the
/// transport's thread must not.
///
///     queue:               producer ──produce──▶ deliver ──▶ filled (at most two buffers)
///                                                   │ wake, if the reader waits      │
///     transport's thread:                           └───────────────────▶ read ◀─────┘
///                                                                           │
///     queue:               fill ◀── scheduleFilling, if there is room ──────┘
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

        /// Copies bytes that have been read ahead. Returns their number; `nil` if there are none.
        mutating func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            guard let first = filled.first else { return nil }
            let count = min(buffer.count, first.count - offset)
            let start = first.startIndex + offset
            first.copyBytes(to: buffer, from: start..<start + count)
            hasBeenRead = true
            offset += count
            if offset == first.count {
                filled.removeFirst()
                offset = 0
            }
            return count
        }

        /// Returns the round of a filling that the caller has to start; `nil` if there is no room, or one is under way.
        mutating func beginFilling() -> Int? {
            guard !isFilling, end == nil, filled.count < BodyPump.readAhead else { return nil }
            isFilling = true
            return round
        }
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
        if isReplayable { return restart(waker) }
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
        restart(waker)
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
            if let count = state.copy(into: buffer) { return (.bytes(count), state.beginFilling()) }
            if let end = state.end { return (end, nil) }
            state.readerWaits = true
            state.hasBegun = true
            return (.pending, state.beginFilling())
        }
        if let round { scheduleFilling(round) }
        return answer
    }

    /// Begins a round at the first byte of the producer.
    private func restart(_ waker: (any BodyWaker)?) {
        let (round, _) = state.withLock { state in
            let next = State(round: state.round + 1, isFilling: true, hasBegun: true, waker: waker)
            return (next.round, exchange(&state, with: next))
        }
        queue.async { [self] in
            guard isCurrent(round) else { return }
            do throws(CurlewError) {
                try withProducer { producer throws(CurlewError) in try producer.restart() }
                fill(round)
            } catch {
                endRound(round, with: .failed(error))
            }
        }
    }

    private static let spent = CurlewError(
        .bodyUnavailable,
        phase: .send,
        reason: "The body comes from a stream that has been read already."
    )

    private func scheduleFilling(_ round: Int) {
        let delay = throttle?.delay ?? 0
        if delay > 0 {
            queue.asyncAfter(deadline: .now() + delay) { [self] in fill(round) }
        } else {
            queue.async { [self] in fill(round) }
        }
    }

    private func isCurrent(_ round: Int) -> Bool { state.withLock { $0.round == round && $0.end == nil } }

    /// Reads ahead until there is no room, or the round ends. Called on the queue.
    private func fill(_ round: Int) {
        while isCurrent(round) {
            let size = min(throttle?.packetSize ?? Self.bufferSize, Self.bufferSize)
            var buffer = Data(count: size)
            do throws(CurlewError) {
                let count = try withProducer { producer throws(CurlewError) in
                    try produce(from: &producer, into: &buffer)
                }
                guard count > 0 else { return endRound(round, with: .end) }
                if !deliver(buffer.prefix(count), round) { return }
            } catch {
                return endRound(round, with: .failed(error))
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

    private func endRound(_ round: Int, with end: BodyRead) {
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
struct InputStreamProducer: BodyProducer {
    private let stream: InputStream
    private var isOpened = false

    init(_ stream: sending InputStream) { self.stream = stream }

    var isReplayable: Bool { false }

    mutating func restart() throws(CurlewError) {
        // A stream that has not been read is still at its first byte.
        guard !isOpened else { throw Self.spent }
    }

    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int {
        if !isOpened {
            isOpened = true
            if stream.streamStatus == .notOpen { stream.open() }
        }
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
