package import Foundation

/// The number of bytes that a body channel holds before it pauses its producer.
///
/// The reader takes all buffered bytes at once, and the producer refills the channel while they are read. A body thus
/// occupies at most twice this number of bytes, plus the bytes of one turn of the transport.
///
/// One turn can deliver half of this number. With a smaller mark the producer would pause while the reader waits for
/// the end of the turn, and fast streams would lose up to half of their speed.
package enum BodyChannelMark {
    package static let standard = 1024 * 1024
}

/// The hand-off of a body's pieces from one producer to one consumer. It only decides; the caller acts.
///
/// Methods are named after events and return the action to perform after the lock has been released. The caller resumes
/// the consumer with a `Waiter`; the machine only stores it.
///
///     buffering ── consumerWaited ──▶ awaited ── producerDelivered ──▶ buffering
///         │                              │
///         ├── producerFinished ──▶ draining ──▶ finished
///         └── consumerLeft ─────▶ abandoned          (from every state but finished)
package struct BodyChannelStateMachine<Waiter: Sendable>: Sendable {
    /// The action of the producer with the bytes that it has.
    package enum OfferAction: Equatable { case take, pause, abort }

    /// The action of the consumer.
    package enum TakeAction: Equatable, Sendable {
        /// Deliver all buffered pieces, oldest first.
        case deliver([Data], resumeProducer: Bool)
        case wait
        case end
        case fail(CurlewError.Code)
        case rethrow(FinishedWith)
    }

    /// The error that a producer finished with. Two are equal if their codes are.
    package struct FinishedWith: Equatable, Sendable {
        package let error: CurlewError

        package init(error: CurlewError) { self.error = error }

        package static func == (lhs: Self, rhs: Self) -> Bool { lhs.error.code == rhs.error.code }
    }

    /// The waiter to resume after bytes or the end have arrived. A resumed waiter calls `consumerAsked` again, and
    /// thereby also gets bytes that arrive before it runs.
    package enum WakeAction: Sendable {
        case none
        case wake(Waiter)
    }

    /// The consequences of the consumer's departure.
    package struct LeaveAction: Sendable {
        package let waiter: Waiter?
        package let cancelProducer: Bool
    }

    private struct Buffer {
        var pieces: [Data] = []
        var cost = 0

        mutating func append(_ new: [Data]) {
            // A piece also costs its allocation. Without this share, a peer that sends single bytes would stay below
            // the mark for too long.
            for piece in new { cost += piece.count + 64 }
            if pieces.isEmpty { pieces = new } else { pieces += new }
        }
    }

    private enum State {
        case buffering(Buffer, isProducerPaused: Bool)
        /// The buffer is empty and the consumer waits. The producer may be paused, if it holds too many bytes itself.
        case awaited(Waiter, isProducerPaused: Bool)
        case draining(Buffer, FinishedWith?)
        case finished(FinishedWith?)
        case abandoned
    }

    private var state = State.buffering(Buffer(), isProducerPaused: false)
    private let mark: Int

    package init(mark: Int = BodyChannelMark.standard) { self.mark = max(1, mark) }

    // MARK: Producer

    /// Starts another attempt's producer. The pause of the previous one does not apply to it.
    package mutating func producerStarted() {
        switch state {
        case .buffering(let buffer, _): state = .buffering(buffer, isProducerPaused: false)
        case .awaited(let waiter, _): state = .awaited(waiter, isProducerPaused: false)
        case .draining, .finished, .abandoned: break
        }
    }

    /// The producer has bytes, in addition to `held` bytes that it has taken and not delivered yet. After `take` it
    /// must call `producerDelivered`.
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

    /// The producer delivers the bytes that it has taken.
    package mutating func producerDelivered(_ pieces: [Data]) -> WakeAction {
        guard !pieces.isEmpty else { return .none }
        switch state {
        case .buffering(var buffer, let isPaused):
            // The state must not share the buffer while it is modified, or the buffer would be copied.
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

    /// The producer has finished. Buffered bytes are still delivered, then `error` or the end.
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

    /// The consumer asks for bytes. After `wait` it calls `consumerWaited` with its waiter.
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

    /// The consumer waits. If bytes have arrived since it asked, its waiter is returned at once.
    package mutating func consumerWaited(_ waiter: Waiter) -> WakeAction {
        switch state {
        case .buffering(let buffer, let isPaused) where buffer.pieces.isEmpty:
            state = .awaited(waiter, isProducerPaused: isPaused)
            return .none
        case .buffering, .awaited, .draining, .finished, .abandoned: return .wake(waiter)
        }
    }

    /// The consumer was cancelled or has released its iterator.
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

    /// The error that the producer finished with, even after the consumer has received it.
    package var failure: CurlewError? {
        switch state {
        case .draining(_, let end), .finished(let end): end?.error
        case .buffering, .awaited, .abandoned: nil
        }
    }

    /// The number of buffered bytes, and 64 for each piece. The producer pauses once it reaches the mark.
    package var bufferedCost: Int {
        switch state {
        case .buffering(let buffer, _), .draining(let buffer, _): buffer.cost
        case .awaited, .finished, .abandoned: 0
        }
    }
}
