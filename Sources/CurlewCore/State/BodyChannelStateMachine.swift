package import Foundation

/// How many bytes a body channel holds before it stops its producer.
///
/// The reader takes all of them at once, and the producer fills the channel again while that is read. So a body has at
/// most twice as many in memory, and what one turn of the transport brings.
///
/// A turn can bring half of it. With a smaller mark the producer stops while the reader waits for the turn's end, and fast
/// streams lose up to half of their speed to it.
package enum BodyChannelMark {
    package static let standard = 1024 * 1024
}

/// The hand-off of a body's pieces from one producer to one consumer, as decisions only.
///
/// Methods are named for what has happened and answer what to do about it, after the lock is released.
/// `Waiter` is whatever the caller resumes the consumer with; the machine only keeps it.
///
///     buffering ── consumerWaited ──▶ awaited ── producerDelivered ──▶ buffering
///         │                              │
///         ├── producerFinished ──▶ draining ──▶ finished
///         └── consumerLeft ─────▶ abandoned          (from every state but finished)
package struct BodyChannelStateMachine<Waiter: Sendable>: Sendable {
    /// What the producer does with the bytes that it has.
    package enum OfferAction: Equatable { case take, pause, abort }

    /// What the consumer gets.
    package enum TakeAction: Equatable, Sendable {
        /// All that is there, oldest first.
        case deliver([Data], resumeProducer: Bool)
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
    }

    /// What the consumer's leaving entails.
    package struct LeaveAction: Sendable {
        package let waiter: Waiter?
        package let cancelProducer: Bool
    }

    private struct Buffer {
        var pieces: [Data] = []
        var cost = 0

        mutating func append(_ new: [Data]) {
            // A tiny piece costs its allocation too: a peer that sends single bytes must reach the mark.
            for piece in new { cost += piece.count + 64 }
            if pieces.isEmpty { pieces = new } else { pieces += new }
        }
    }

    private enum State {
        case buffering(Buffer, isProducerPaused: Bool)
        /// Nothing buffered, and the consumer waits. A producer is paused here where it holds too much itself.
        case awaited(Waiter, isProducerPaused: Bool)
        case draining(Buffer, FinishedWith?)
        case finished(FinishedWith?)
        case abandoned
    }

    private var state = State.buffering(Buffer(), isProducerPaused: false)
    private let mark: Int

    package init(mark: Int = BodyChannelMark.standard) { self.mark = max(1, mark) }

    // MARK: Producer

    /// Another attempt takes the producer's place; the pause of the last one went with it.
    package mutating func producerStarted() {
        switch state {
        case .buffering(let buffer, _): state = .buffering(buffer, isProducerPaused: false)
        case .awaited(let waiter, _): state = .awaited(waiter, isProducerPaused: false)
        case .draining, .finished, .abandoned: break
        }
    }

    /// The producer has bytes, beside `held` that it has taken and not yet delivered. `take` must be followed by
    /// `producerDelivered`.
    package mutating func producerOffered(held: Int = 0) -> OfferAction {
        switch state {
        case .buffering(let buffer, _):
            guard buffer.cost + held >= mark else { return .take }
            state = .buffering(buffer, isProducerPaused: true)
            return .pause
        case .awaited(let waiter, _):
            guard held >= mark else { return .take }
            state = .awaited(waiter, isProducerPaused: true)
            return .pause
        case .draining, .finished, .abandoned: return .abort
        }
    }

    /// The producer delivers what it has taken.
    package mutating func producerDelivered(_ pieces: [Data]) -> WakeAction {
        guard !pieces.isEmpty else { return .none }
        switch state {
        case .buffering(var buffer, let isPaused):
            // Hollow the state out first, so that the buffer is not copied.
            state = .finished(nil)
            buffer.append(pieces)
            state = .buffering(buffer, isProducerPaused: isPaused)
            return .none
        case .awaited(let waiter, let isPaused):
            var buffer = Buffer()
            buffer.append(pieces)
            state = .buffering(buffer, isProducerPaused: isPaused)
            return .wake(waiter)
        case .draining, .finished, .abandoned: return .none
        }
    }

    /// No more bytes will come; what is buffered is still handed out, then `error` or the end.
    package mutating func producerFinished(_ error: CurlewError?) -> WakeAction {
        let end = error.map(FinishedWith.init)
        switch state {
        case .buffering(let buffer, _):
            state = .draining(buffer, end)
            return .none
        case .awaited(let waiter, _):
            state = .draining(Buffer(), end)
            return .wake(waiter)
        case .draining, .finished, .abandoned: return .none
        }
    }

    // MARK: Consumer

    /// The consumer wants what there is. After `wait` it calls `consumerWaited` with its waiter.
    package mutating func consumerAsked() -> TakeAction {
        switch state {
        case .buffering(let buffer, let isPaused):
            guard !buffer.pieces.isEmpty else { return .wait }
            state = .buffering(Buffer(), isProducerPaused: false)
            return .deliver(buffer.pieces, resumeProducer: isPaused)
        case .awaited: return .fail(.bodyUnavailable)
        case .draining(let buffer, let end):
            guard !buffer.pieces.isEmpty else {
                state = .finished(end)
                return end.map(TakeAction.rethrow) ?? .end
            }
            state = .draining(Buffer(), end)
            return .deliver(buffer.pieces, resumeProducer: false)
        case .finished: return .end
        case .abandoned: return .fail(.cancelled)
        }
    }

    /// The consumer waits. Bytes may have come since it asked: then it is woken at once.
    package mutating func consumerWaited(_ waiter: Waiter) -> WakeAction {
        switch state {
        case .buffering(let buffer, let isPaused) where buffer.pieces.isEmpty:
            state = .awaited(waiter, isProducerPaused: isPaused)
            return .none
        case .buffering, .awaited, .draining, .finished, .abandoned: return .wake(waiter)
        }
    }

    /// The consumer was cancelled or let go of its iterator.
    package mutating func consumerLeft() -> LeaveAction {
        switch state {
        case .buffering:
            state = .abandoned
            return LeaveAction(waiter: nil, cancelProducer: true)
        case .awaited(let waiter, _):
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
        case .awaited: true
        case .buffering, .draining, .finished, .abandoned: false
        }
    }

    /// Whether the consumer has left before the end.
    package var isAbandoned: Bool {
        switch state {
        case .abandoned: true
        case .buffering, .awaited, .draining, .finished: false
        }
    }

    /// The error that the producer has finished with, also after the consumer has got it.
    package var failure: CurlewError? {
        switch state {
        case .draining(_, let end), .finished(let end): end?.error
        case .buffering, .awaited, .abandoned: nil
        }
    }

    /// What is held in memory now, as the mark counts it.
    package var bufferedCost: Int {
        switch state {
        case .buffering(let buffer, _), .draining(let buffer, _): buffer.cost
        case .awaited, .finished, .abandoned: 0
        }
    }
}
