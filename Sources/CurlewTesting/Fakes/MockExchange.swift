internal import CurlewCore

/// The control of one running exchange of a `MockTransport`: records pauses, suspension and cancellation.
final class MockExchange: TransferControl {
    private struct State: Sendable {
        var isPaused = false
        var isSuspended = false
        var ending: CurlewError?

        func isClear(_ direction: Direction) -> Bool {
            ending != nil || !(isSuspended || (direction == .receiving && isPaused))
        }
    }

    /// The direction of bytes. A pause delays only received bytes; a suspension delays both.
    enum Direction { case sending, receiving }

    private let state = Watched(State())

    func resumeReceiving() { state.change { $0.isPaused = false } }
    func suspend() { state.change { $0.isSuspended = true } }
    func resume() { state.change { $0.isSuspended = false } }

    func cancel(with error: CurlewError) {
        state.change { if $0.ending == nil { $0.ending = error } }
    }

    /// Calls the sink and returns whether it accepted; throws the error that it aborts with.
    ///
    /// The exchange is marked as paused before the call. A sink that returns `.pause` may have another thread call
    /// `resumeReceiving` before it returns; marking the pause afterwards would overwrite that resumption, and the
    /// exchange would wait forever.
    func offer(_ ask: () -> Disposition) throws(CurlewError) -> Bool {
        state.change { $0.isPaused = true }
        switch ask() {
        case .proceed:
            state.change { $0.isPaused = false }
            return true
        case .pause: return false
        case .abort(let error): throw error
        }
    }

    /// Returns when bytes may be transferred in this direction; throws the error that ended the exchange.
    func clearance(_ direction: Direction) async throws(CurlewError) {
        if !state.value.isClear(direction) {
            // Cancelling the task does not interrupt this wait by itself: `perform` turns cancellation into an ending.
            _ = await state.wait { $0.isClear(direction) }
        }
        if let ending = state.value.ending { throw ending }
    }

    /// Runs `work`. If the exchange ends first, cancels `work`, waits for it to return, and throws the ending.
    func whileRunning<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws(CurlewError) -> T {
        do {
            return try await withThrowingTaskGroup(of: T?.self) { group in
                group.addTask {
                    _ = await self.state.wait { $0.ending != nil }
                    return nil
                }
                group.addTask { try await work() }
                defer { group.cancelAll() }
                guard let first = try await group.next(), let value = first else { throw CancellationError() }
                return value
            }
        } catch {
            if let ending = state.value.ending { throw ending }
            if let error = error as? CurlewError { throw error }
            if error is CancellationError { throw CurlewError(.cancelled, phase: .waiting) }
            throw CurlewError(.receiveFailed, phase: .waiting, reason: "the mock's closure threw", underlying: error)
        }
    }
}
