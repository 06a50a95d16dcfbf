internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Delivers a stored response, or one of a middleware, to a sink at the sink's speed.
///
/// The sink's owner has one control from the beginning of the exchange to its end. While the exchange is sent over the
/// network, the commands are passed on to the network's control. Otherwise they end the waits of this delivery.
final class ResponseDelivery: TransferControl {
    private struct State: Sendable {
        /// The control of the network's exchange.
        var network = SuspensionRelay()
        /// Whether the sink has paused.
        var isPaused = false
        var isSuspended = false
        /// The error with which the owner has ended the exchange.
        var ending: CurlewError?
        /// The delivery waits here until `mayProceed`.
        var wait: OneShot<Void>?
        /// The end of a shared fetch or the answer to a claim, for which the cache waits. Resolved with `false` if the
        /// exchange ends first.
        var event: OneShot<Bool>?

        /// Whether the delivery may go on: with the next bytes, or with `ending`.
        var mayProceed: Bool { ending != nil || !(isSuspended || isPaused) }
    }

    private let state = Lock(State())

    /// The most bytes in one call of a sink.
    private static let sliceSize = 256 * 1024

    // MARK: Commands of the owner

    func resumeReceiving() {
        state.withLock { state in
            state.isPaused = false
            return state.network.control
        }?.resumeReceiving()
        endWaits()
    }

    func suspend() {
        state.withLock { $0.isSuspended = true }
        relaySuspension()
    }

    func resume() {
        state.withLock { $0.isSuspended = false }
        endWaits()
        relaySuspension()
    }

    func cancel(with error: CurlewError) {
        state.withLock { state in
            if state.ending == nil { state.ending = error }
            return state.network.control
        }?.cancel(with: error)
        endWaits()
    }

    /// Resumes the task that delivers, if the state lets it go on.
    private func endWaits() {
        let (wait, event) = state.withLock { ($0.mayProceed ? $0.wait : nil, $0.ending == nil ? nil : $0.event) }
        wait?.resolve(())
        event?.resolve(false)
    }

    // MARK: The network

    /// Connects an exchange of the network, and passes the reader's commands on to it.
    func attach(_ network: any TransferControl) {
        let (ending, _) = state.withLock { ($0.ending, $0.network.attach(network)) }
        relaySuspension()
        if let ending { network.cancel(with: ending) }
    }

    private func relaySuspension() {
        SuspensionRelay.run { done in
            state.withLock { $0.network.next(after: done, isSuspended: $0.isSuspended) }
        }
    }

    func detach() { _ = state.withLock { $0.network.attach(nil) } }

    // MARK: Waiting

    /// Waits for an event. Returns `nil` if the exchange ends first.
    func wait(for event: OneShot<Bool>) async -> Bool? {
        let isOver = state.withLock { state in
            state.event = event
            return state.ending != nil
        }
        if isOver { event.resolve(false) }
        let value = await event.wait()
        let (ending, _) = state.withLock { ($0.ending, exchange(&$0.event, with: nil)) }
        return ending == nil ? value : nil
    }

    var ending: CurlewError? { state.withLock { $0.ending } }

    /// Whether the next bytes have to wait. Throws the error with which the exchange was ended.
    private var hasToWait: Bool {
        get throws(CurlewError) {
            let (mayProceed, ending) = state.withLock { ($0.mayProceed, $0.ending) }
            if let ending { throw ending }
            return !mayProceed
        }
    }

    /// Waits until bytes may be delivered. Throws the error with which the exchange was ended: at the deadline, the
    /// total timeout. Cancelling the task ends the wait too, because a timeout may cancel only the task, and nobody
    /// would then resume the delivery.
    private func waitUntilResumed(until deadline: ContinuousClock.Instant?) async throws(CurlewError) {
        while try hasToWait {
            let wait = OneShot<Void>()
            let waits = state.withLock { state in
                if !state.mayProceed { state.wait = wait }
                return !state.mayProceed
            }
            guard waits else { continue }
            let isResumed = if let deadline { await end(wait, at: deadline) } else { await wait.wait() != nil }
            _ = state.withLock { exchange(&$0.wait, with: nil) }
            if !isResumed { throw ending ?? Self.cancelled }
        }
    }

    /// Waits, and ends the exchange at the deadline. Returns `false` if the task was cancelled before.
    private func end(_ wait: OneShot<Void>, at deadline: ContinuousClock.Instant) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                guard await CancellableSleep.wait(until: deadline) else { return }
                self.cancel(with: .totalTimeout(nil, phase: .receive))
            }
            defer { group.cancelAll() }
            return await wait.wait() != nil
        }
    }

    private static let cancelled = CurlewError(.cancelled, phase: .receive)

    // MARK: Delivery

    /// Delivers a response to a sink, at the sink's speed. `next` returns the chunks of the body, and `nil` at its end.
    /// Returns the number of bytes in the body.
    func deliver(
        _ head: ResponseHead,
        to sink: any TransferSink,
        limit: Int?,
        deadline: ContinuousClock.Instant?,
        next: () async throws(CurlewError) -> Data?
    ) async throws(CurlewError) -> Int64 {
        let keeper = sink as? any KeepingSink
        if try hasToWait { try await waitUntilResumed(until: deadline) }
        _ = try offer { sink.didReceive(head: head) }
        var delivered: Int64 = 0
        while true {
            let chunk = try await next()
            // A sequence of the user may end without an error when its task is cancelled, or not react at all.
            if Task.isCancelled { throw ending ?? Self.cancelled }
            guard let chunk else { break }
            delivered += Int64(chunk.count)
            if let limit, delivered > limit { throw .bodyTooLarge(limit) }
            // The user may get the data unchanged, and expect its indices to begin at 0.
            let canBeKept = keeper?.keepsData == true && chunk.startIndex == 0
            var rest = chunk[...]
            while !rest.isEmpty {
                if try hasToWait { try await waitUntilResumed(until: deadline) }
                let slice = canBeKept ? rest : rest.prefix(Self.sliceSize)
                let isTaken = try offer {
                    if canBeKept, let keeper { return keeper.didReceive(data: slice) }
                    return slice.withUnsafeBytes { sink.didReceive(body: $0) }
                }
                if isTaken { rest = rest.dropFirst(slice.count) }
            }
        }
        // A sink that pauses at the last byte delays the end.
        if try hasToWait { try await waitUntilResumed(until: deadline) }
        return delivered
    }

    /// Makes an offer to the sink. Returns `false` if the sink has paused, and the offer must be repeated. The pause is
    /// recorded before the call, because another thread may call `resumeReceiving` before the call returns.
    private func offer(_ ask: () -> Disposition) throws(CurlewError) -> Bool {
        state.withLock { $0.isPaused = true }
        switch ask() {
        case .proceed:
            state.withLock { $0.isPaused = false }
            return true
        case .pause: return false
        case .abort(let error): throw error
        }
    }
}
