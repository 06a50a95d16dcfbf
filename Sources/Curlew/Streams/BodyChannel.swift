internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Hands body bytes from the transport's thread to one reading task, and stops the sender when the reader is slow.
///
/// No task of its own. What one turn of the transport brings is collected on its thread and handed over at the turn's end;
/// the reader takes all that is there at once. So a reader that is slower than the network is not woken for each piece, and
/// neither side waits for the other's lock while bytes are copied.
final class BodyChannel: TurnObserver {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct Shared: Sendable {
        var machine: BodyChannelStateMachine<Waiter>
        var control: (any TransferControl)?
        /// The same, where the transport tells of the end of its turns.
        var turns: (any TurnControl)?
        var onAbandon: (@Sendable () -> Void)?
        /// A reader has begun to read.
        var hasReader = false
    }

    private let shared: Lock<Shared>
    /// What the present turn has brought. The producer's own until the end.
    private let filling = Lock(PieceFilling())
    private let cancelsTransfer: Bool

    /// `onAbandon` is called at most once, when the reader leaves before the producer has finished.
    init(mark: Int = BodyChannelMark.standard, onAbandon: (@Sendable () -> Void)? = nil) {
        shared = Lock(Shared(machine: BodyChannelStateMachine(mark: mark), onAbandon: onAbandon))
        cancelsTransfer = onAbandon != nil
    }

    // MARK: Producer, on the transport's thread

    /// A new attempt produces from now on, and is resumed through `control`.
    func producerStarts(_ control: any TransferControl) {
        let turns = control as? any TurnControl
        _ = shared.withLock {
            $0.machine.producerStarted()
            return (exchange(&$0.control, with: control), exchange(&$0.turns, with: turns))
        }
    }

    /// Takes the bytes, or asks for them again later.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        // Whether there is room in the channel was asked when the piece began.
        let (isTaken, held) = filling.withLock { ($0.append(bytes), $0.count) }
        if isTaken { return .proceed }
        let (offer, turns) = shared.withLock { ($0.machine.producerOffered(held: held), $0.turns) }
        switch offer {
        case .pause: return .pause
        // The reader's thread is about to cancel: a transfer that failed before would not count as cancelled.
        case .abort where cancelsTransfer: return .pause
        case .abort: return .abort(CurlewError(.cancelled, phase: .receive, reason: "the reader has left"))
        case .take: break
        }
        guard !bytes.isEmpty else { return .proceed }
        let isFirst = filling.withLock { $0.begin(with: bytes) }
        if let turns {
            if isFirst { turns.atEndOfTurn(tell: self) }
        } else {
            turnEnded()
        }
        return .proceed
    }

    /// What the turn has brought is there: a reader that waits is woken once for all of it.
    func turnEnded() {
        let pieces = filling.withLock { $0.take() }
        wake(shared.withLock { $0.machine.producerDelivered(pieces) })
    }

    // MARK: The end, from the run

    /// What is buffered can still be read; then the reader gets `error` or the end.
    func finish(throwing error: CurlewError? = nil) {
        // Of a response that was held back the run itself hands the body over, outside of any turn.
        turnEnded()
        let (action, _, _, _) = shared.withLock { shared in
            (
                shared.machine.producerFinished(error), exchange(&shared.control, with: nil),
                exchange(&shared.turns, with: nil), exchange(&shared.onAbandon, with: nil)
            )
        }
        wake(action)
    }

    // MARK: Consumer

    /// Whether the caller is the first reader, a sequence or the handlers: what it reads, no other reader gets.
    func becomesReader() -> Bool { shared.withLock { !exchange(&$0.hasReader, with: true) } }

    /// The error of a reader that was not the first: why the body ended, or that it can be read once.
    var refusal: CurlewError {
        shared.withLock { shared in
            if shared.machine.isAbandoned { return Self.readerCancelled }
            return shared.machine.failure ?? Self.wasRead
        }
    }

    /// All that has come and was not taken, at least one piece; nil at the end. Cancelling the awaiting task ends the
    /// channel and its transfer.
    func take(isolation: isolated (any Actor)? = #isolation) async throws(CurlewError) -> [Data]? {
        if Task.isCancelled { leave() }
        while true {
            let (action, control) = shared.withLock { ($0.machine.consumerAsked(), $0.control) }
            switch action {
            case .wait: await wait()
            case .deliver(let pieces, let resumesProducer):
                if resumesProducer { control?.resumeReceiving() }
                return pieces
            case .end: return nil
            case .rethrow(let end): throw end.error
            case .fail(.cancelled): throw Self.readerCancelled
            // A copy of the reader waits already.
            case .fail: throw Self.wasRead
            }
        }
    }

    /// The reader is gone: nothing is buffered any more and the transfer is cancelled.
    func leave() {
        let (action, onAbandon) = shared.withLock { shared in
            let action = shared.machine.consumerLeft()
            return (action, exchange(&shared.onAbandon, with: nil))
        }
        action.waiter?.resume()
        if action.cancelProducer { onAbandon?() }
    }

    /// Whether the reader waits for bytes.
    var hasWaiter: Bool { shared.withLock { $0.machine.hasWaiter } }

    /// Bytes held now, as the mark counts them.
    var bufferedCost: Int { shared.withLock { $0.machine.bufferedCost } }

    /// Returns when there may be something to take.
    private func wait(isolation: isolated (any Actor)? = #isolation) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                wake(shared.withLock { $0.machine.consumerWaited(waiter) })
            }
        } onCancel: {
            leave()
        }
    }

    private func wake(_ action: BodyChannelStateMachine<Waiter>.WakeAction) {
        switch action {
        case .none: break
        case .wake(let waiter): waiter.resume()
        }
    }

    static let wasRead = CurlewError(
        .bodyUnavailable, phase: .receive,
        reason: "another iteration or a handler has read the body, or is reading it: it can be read once"
    )

    static let readerCancelled = CurlewError(
        .cancelled,
        phase: .receive,
        reason: "the reading task was cancelled"
    )
}
