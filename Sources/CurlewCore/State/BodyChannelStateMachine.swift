package import Foundation

/// How many bytes a body channel holds before it stops its producer, and when it lets it go on.
package struct BodyChannelWatermarks: Sendable, Hashable {
    /// At or above this the producer pauses. One more chunk than this can be in memory.
    package var high: Int
    /// At or below this a paused producer goes on.
    package var low: Int

    package static let standard = Self(high: 256 * 1024, low: 64 * 1024)

    package init(high: Int, low: Int) {
        self.high = max(1, high)
        self.low = max(0, min(low, self.high - 1))
    }
}

/// The hand-off of body chunks from one producer to one consumer, as decisions only.
///
/// Methods are named for what has happened and answer what to do about it, after the lock is released.
/// `Waiter` is whatever the caller resumes the consumer with; the machine only keeps it.
///
///     buffering ── consumerWaited ──▶ awaited ── producerDelivered ──▶ buffering, or reached ── turnEnded ──▶ buffering
///         │                              │                                              │
///         ├── producerFinished ──▶ draining ──▶ finished
///         └── consumerLeft ─────▶ abandoned          (from every state but finished)
package struct BodyChannelStateMachine<Waiter: Sendable>: Sendable {
    /// What the producer does with the bytes that it has.
    package enum OfferAction: Equatable { case take, pause, abort }

    /// What the consumer gets.
    package enum TakeAction: Equatable, Sendable {
        case deliver(Data, resumeProducer: Bool)
        case wait
        case end
        case fail(CurlewError.Code)
        case rethrow(FinishedWith)
    }

    /// The error that a producer finished with. Compared by its code.
    package struct FinishedWith: Equatable, Sendable {
        package let error: CurlewError

        package init(error: CurlewError) { self.error = error }

        package static func == (lhs: Self, rhs: Self) -> Bool { lhs.error.code == rhs.error.code }
    }

    /// Whom to wake after bytes or the end have come. A waiter that is woken asks again: until it runs, more may have
    /// come, and then it need not wait for that.
    package enum WakeAction: Sendable {
        case none
        case wake(Waiter)
        /// `turnEnded` is to be called once the producer has delivered what it has at the moment.
        case awaitEndOfTurn
    }

    /// What the consumer's leaving entails.
    package struct LeaveAction: Sendable {
        package let waiter: Waiter?
        package let cancelProducer: Bool
    }

    private struct Buffer {
        var chunks: [Data] = []
        var first = 0
        var cost = 0

        var isEmpty: Bool { first == chunks.count }

        /// A tiny chunk costs its allocation too: a peer that sends single bytes must reach the mark.
        static func cost(of chunk: Data) -> Int { chunk.count + 64 }

        mutating func append(_ chunk: Data) {
            chunks.append(chunk)
            cost += Self.cost(of: chunk)
        }

        mutating func popFirst() -> Data? {
            guard first < chunks.count else { return nil }
            let chunk = chunks[first]
            chunks[first] = Data()
            first += 1
            cost -= Self.cost(of: chunk)
            if first == chunks.count {
                chunks.removeAll(keepingCapacity: true)
                first = 0
            } else if first >= 64, first * 2 >= chunks.count {
                chunks.removeFirst(first)
                first = 0
            }
            return chunk
        }
    }

    private enum State {
        case buffering(Buffer, isProducerPaused: Bool)
        /// Nothing buffered, and the consumer waits. A producer is never paused here.
        case awaited(Waiter)
        /// Bytes have come for the consumer, which still waits: the end of the turn wakes it for all of them.
        case reached(Waiter, Buffer, isProducerPaused: Bool)
        case draining(Buffer, FinishedWith?)
        case finished
        case abandoned
    }

    private var state = State.buffering(Buffer(), isProducerPaused: false)
    private let watermarks: BodyChannelWatermarks

    package init(watermarks: BodyChannelWatermarks = .standard) { self.watermarks = watermarks }

    // MARK: Producer

    /// Another attempt takes the producer's place; the pause of the last one went with it.
    package mutating func producerStarted() {
        switch state {
        case .buffering(let buffer, _): state = .buffering(buffer, isProducerPaused: false)
        case .reached(let waiter, let buffer, _): state = .reached(waiter, buffer, isProducerPaused: false)
        case .awaited, .draining, .finished, .abandoned: break
        }
    }

    /// The producer has bytes. `take` must be followed by `producerDelivered`.
    package mutating func producerOffered() -> OfferAction {
        switch state {
        case .buffering(let buffer, _):
            guard buffer.cost >= watermarks.high else { return .take }
            state = .buffering(buffer, isProducerPaused: true)
            return .pause
        case .reached(let waiter, let buffer, _):
            guard buffer.cost >= watermarks.high else { return .take }
            state = .reached(waiter, buffer, isProducerPaused: true)
            return .pause
        case .awaited: return .take
        case .draining, .finished, .abandoned: return .abort
        }
    }

    /// The producer delivers. `hasTurns` tells whether it will say when it has no more at the moment (`turnEnded`).
    package mutating func producerDelivered(_ chunk: Data, hasTurns: Bool = false) -> WakeAction {
        switch state {
        case .buffering(var buffer, let isPaused):
            // Hollow the state out first, so that the buffer is not copied.
            state = .finished
            buffer.append(chunk)
            state = .buffering(buffer, isProducerPaused: isPaused)
            return .none
        case .awaited(let waiter):
            var buffer = Buffer()
            buffer.append(chunk)
            guard hasTurns else {
                state = .buffering(buffer, isProducerPaused: false)
                return .wake(waiter)
            }
            state = .reached(waiter, buffer, isProducerPaused: false)
            return .awaitEndOfTurn
        case .reached(let waiter, var buffer, let isPaused):
            state = .finished
            buffer.append(chunk)
            state = .reached(waiter, buffer, isProducerPaused: isPaused)
            return .none
        case .draining, .finished, .abandoned: return .none
        }
    }

    /// The producer has no more at the moment.
    package mutating func turnEnded() -> WakeAction {
        switch state {
        case .reached(let waiter, let buffer, let isPaused):
            state = .buffering(buffer, isProducerPaused: isPaused)
            return .wake(waiter)
        case .buffering, .awaited, .draining, .finished, .abandoned: return .none
        }
    }

    /// No more bytes will come; what is buffered is still handed out, then `error` or the end.
    package mutating func producerFinished(_ error: CurlewError?) -> WakeAction {
        let end = error.map(FinishedWith.init)
        switch state {
        case .buffering(let buffer, _):
            state = .draining(buffer, end)
            return .none
        case .awaited(let waiter):
            state = .draining(Buffer(), end)
            return .wake(waiter)
        case .reached(let waiter, let buffer, _):
            state = .draining(buffer, end)
            return .wake(waiter)
        case .draining, .finished, .abandoned: return .none
        }
    }

    // MARK: Consumer

    /// The consumer wants the next chunk. After `wait` it calls `consumerWaited` with its waiter.
    package mutating func consumerAsked() -> TakeAction {
        switch state {
        case .buffering(var buffer, var isPaused):
            guard !buffer.isEmpty else { return .wait }
            state = .finished
            guard let chunk = buffer.popFirst() else { return .fail(.internal) }
            let resume = isPaused && buffer.cost <= watermarks.low
            if resume { isPaused = false }
            state = .buffering(buffer, isProducerPaused: isPaused)
            return .deliver(chunk, resumeProducer: resume)
        case .awaited, .reached: return .fail(.internal)
        case .draining(var buffer, let end):
            state = .finished
            guard let chunk = buffer.popFirst() else { return end.map(TakeAction.rethrow) ?? .end }
            state = .draining(buffer, end)
            return .deliver(chunk, resumeProducer: false)
        case .finished: return .end
        case .abandoned: return .fail(.cancelled)
        }
    }

    /// The consumer waits. Bytes may have come since it asked: then it is woken at once.
    package mutating func consumerWaited(_ waiter: Waiter) -> WakeAction {
        switch state {
        case .buffering(let buffer, _) where buffer.isEmpty:
            state = .awaited(waiter)
            return .none
        case .buffering, .awaited, .reached, .draining, .finished, .abandoned: return .wake(waiter)
        }
    }

    /// The consumer was cancelled or let go of its iterator.
    package mutating func consumerLeft() -> LeaveAction {
        switch state {
        case .buffering:
            state = .abandoned
            return LeaveAction(waiter: nil, cancelProducer: true)
        case .awaited(let waiter), .reached(let waiter, _, _):
            state = .abandoned
            return LeaveAction(waiter: waiter, cancelProducer: true)
        case .draining:
            state = .abandoned
            return LeaveAction(waiter: nil, cancelProducer: false)
        case .finished, .abandoned:
            return LeaveAction(waiter: nil, cancelProducer: false)
        }
    }

    /// Whether the consumer waits.
    package var hasWaiter: Bool {
        switch state {
        case .awaited, .reached: true
        case .buffering, .draining, .finished, .abandoned: false
        }
    }

    /// What is held in memory now, as the watermarks count it.
    package var bufferedCost: Int {
        switch state {
        case .buffering(let buffer, _), .reached(_, let buffer, _), .draining(let buffer, _): buffer.cost
        case .awaited, .finished, .abandoned: 0
        }
    }
}
