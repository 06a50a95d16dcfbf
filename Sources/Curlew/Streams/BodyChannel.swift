internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Passes body bytes from the transport's thread to one reading task, and pauses the sender if the reader is slow.
///
///                       turnEnded                              take
///     receive ─▶ TurnPieces ────▶ BodyChannelStateMachine ────────▶ StreamReader
///                filled           delivered                         taken
///                lock `filling`   lock `shared`                     no lock
///
/// A piece has one owner at a time. The transport's thread fills it until the turn ends; the state machine holds it
/// until the reader takes all delivered pieces at once. The first two have a lock each: so the reader does not wait
/// while bytes are copied, and is woken once a turn instead of once a delivery. The channel has no task.
final class BodyChannel: TurnObserver {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct Shared: Sendable {
        var machine: BodyChannelStateMachine<Waiter>
        var control: (any TransferControl)?
        /// `control` as a `TurnControl`, if the transport reports the ends of its turns.
        var turns: (any TurnControl)?
        var onAbandon: (@Sendable () -> Void)?
        /// Whether the body has a reader, perhaps one that has left.
        var isClaimed = false
    }

    private let shared: Lock<Shared>
    /// The pieces of the current turn. The reader never takes this lock.
    private let filling = Lock(TurnPieces())
    /// Whether `onAbandon` ends the transfer.
    private let abandonEndsTransfer: Bool

    /// `onAbandon` is called at most once: when the reader leaves before the producer has finished.
    init(mark: Int = BodyChannelMark.standard, onAbandon: (@Sendable () -> Void)? = nil) {
        shared = Lock(Shared(machine: BodyChannelStateMachine(mark: mark), onAbandon: onAbandon))
        abandonEndsTransfer = onAbandon != nil
    }

    // MARK: Producer, on the transport's thread

    /// Starts another exchange's body. The channel resumes its transfer through `control`.
    func producerStarts(_ control: any TransferControl) {
        let turns = control as? any TurnControl
        // The former controls are released without the lock.
        _ = shared.withLock {
            $0.machine.producerStarted()
            return (exchange(&$0.control, with: control), exchange(&$0.turns, with: turns))
        }
    }

    /// Stores the bytes, or pauses the transfer, which then offers them again. Aborts a transfer whose reader has left.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        // The channel had room when the current piece began, so the piece is filled without asking again.
        let (fits, held) = filling.withLock { ($0.append(bytes), $0.count) }
        if fits { return .proceed }
        let (offer, turns) = shared.withLock { ($0.machine.producerOffered(held: held), $0.turns) }
        switch offer {
        case .pause: return .pause
        // The reader's thread is about to cancel the transfer. A transfer that we abort first would fail instead of
        // counting as cancelled.
        case .abort where abandonEndsTransfer: return .pause
        case .abort: return .abort(CurlewError(.cancelled, phase: .receive, reason: "the reader has left"))
        case .take: break
        }
        guard !bytes.isEmpty else { return .proceed }
        let isFirstOfTurn = filling.withLock { $0.begin(with: bytes) }
        if let turns {
            if isFirstOfTurn { turns.atEndOfTurn(tell: self) }
        } else {
            // A transport that reports no turns has one for each delivery.
            turnEnded()
        }
        return .proceed
    }

    /// Delivers the bytes of the turn, and wakes a waiting reader once for all of them.
    func turnEnded() {
        let pieces = filling.withLock { $0.take() }
        wake(shared.withLock { $0.machine.producerDelivered(pieces) })
    }

    // MARK: The end, from the run

    /// Ends the body. The reader still gets the buffered bytes, then `error` or the end.
    func finish(throwing error: CurlewError? = nil) {
        // The run delivers a provisional response itself, outside any turn, so no end of a turn has delivered its body.
        turnEnded()
        // The controls and the closure are released without the lock.
        let (action, _, _, _) = shared.withLock { shared in
            (
                shared.machine.producerFinished(error), exchange(&shared.control, with: nil),
                exchange(&shared.turns, with: nil), exchange(&shared.onAbandon, with: nil)
            )
        }
        wake(action)
    }

    // MARK: Consumer

    /// Claims the body for the caller, a sequence or the handlers. Returns `true` only for the first caller, because a
    /// body has one reader.
    func claim() -> Bool { shared.withLock { !exchange(&$0.isClaimed, with: true) } }

    /// The error for every reader but the first: the body's failure, or that it can be read only once.
    var refusal: CurlewError {
        shared.withLock { shared in
            if shared.machine.isAbandoned { return Self.readerCancelled }
            return shared.machine.failure ?? Self.wasRead
        }
    }

    /// Returns all buffered pieces, at least one; `nil` at the end. Cancelling the awaiting task ends the channel and
    /// its transfer.
    func take() async throws(CurlewError) -> [Data]? {
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
            // Another copy of this reader is already waiting.
            case .fail: throw Self.wasRead
            }
        }
    }

    /// Ends reading: drops the buffered bytes and cancels the transfer.
    func leave() {
        let (action, onAbandon) = shared.withLock { ($0.machine.consumerLeft(), exchange(&$0.onAbandon, with: nil)) }
        action.waiter?.resume()
        if action.cancelProducer { onAbandon?() }
    }

    /// Whether the reader waits for bytes.
    var hasWaiter: Bool { shared.withLock { $0.machine.hasWaiter } }

    /// The cost of the buffered bytes, counted as for the mark.
    var bufferedCost: Int { shared.withLock { $0.machine.bufferedCost } }

    /// Returns when the reader should ask again. If its task is cancelled, reading has ended.
    private func wait() async {
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

/// Collects the bytes of one turn of a transport in a few large pieces. These bytes are copied only here.
private struct TurnPieces: Sendable {
    /// The capacity of a piece that begins with a large delivery, or follows another piece.
    static let capacity = 64 * 1024
    /// A delivery of at least this size suggests more in the same turn: libcurl delivers at most 16 KiB at a time. A
    /// smaller one is mostly a complete event or line, and gets a piece of exactly its size.
    static let largeDelivery = 8 * 1024

    private var pieces: [Data] = []
    /// The free bytes of the last piece.
    private var room = 0
    /// The bytes in all pieces.
    private(set) var count = 0

    /// Adds the bytes to the last piece. Returns `false` if there is no piece, if they do not fit, or if there are
    /// none.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.isEmpty, bytes.count <= room else { return false }
        pieces[pieces.count - 1].append(contentsOf: bytes)
        room -= bytes.count
        count += bytes.count
        return true
    }

    /// Begins a piece with the bytes. Returns whether it is the turn's first.
    mutating func begin(with bytes: UnsafeRawBufferPointer) -> Bool {
        let isAlone = pieces.isEmpty && bytes.count < Self.largeDelivery
        let capacity = isAlone ? bytes.count : max(Self.capacity, bytes.count)
        var piece = Data(capacity: capacity)
        piece.append(contentsOf: bytes)
        pieces.append(piece)
        room = capacity - bytes.count
        count += bytes.count
        return pieces.count == 1
    }

    /// Ends the turn and returns its pieces.
    mutating func take() -> [Data] {
        // Copies a mostly empty last piece, so that a slow reader does not retain its unused capacity.
        if room > Self.capacity / 2, let last = pieces.popLast() {
            pieces.append(last.withUnsafeBytes { Data($0) })
        }
        (room, count) = (0, 0)
        return exchange(&pieces, with: [])
    }
}
