internal import CurlewCore

/// The way back into one running exchange of a `MockTransport`: who pauses, suspends and cancels it.
final class MockExchange: TransferControl {
    private struct State: Sendable {
        var isPaused = false
        var isSuspended = false
        var ending: CurlewError?

        func isClear(_ direction: Direction) -> Bool {
            ending != nil || !(isSuspended || (direction == .receiving && isPaused))
        }
    }

    /// Which way bytes are to go. A pause holds only what is received.
    enum Direction { case sending, receiving }

    private let state = Watched(State())

    func resumeReceiving() { state.change { $0.isPaused = false } }
    func suspend() { state.change { $0.isSuspended = true } }
    func resume() { state.change { $0.isSuspended = false } }

    func cancel(with error: CurlewError) {
        state.change { if $0.ending == nil { $0.ending = error } }
    }

    /// Asks the sink, and holds back if it says so; throws what it aborts with.
    ///
    /// The pause counts from before the call: `resumeReceiving` may come from another thread before it returns.
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

    /// Returns when bytes may go that way; throws what the exchange was ended with.
    func clearance(_ direction: Direction) async throws(CurlewError) {
        if !state.value.isClear(direction) {
            // The task's cancellation arrives as an ending: the caller of `perform` has made it one.
            _ = await state.wait { $0.isClear(direction) }
        }
        if let ending = state.value.ending { throw ending }
    }

    /// Does `work` unless the exchange is ended meanwhile; then `work` is cancelled and waited for.
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
