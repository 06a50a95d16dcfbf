internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The way back into an exchange that the cache answers: from the store, after a wait, or by passing on what the network
/// gives. Its reader sees one control, whatever happens behind it.
final class CacheExchange: TransferControl {
    private struct State: Sendable {
        var network: (any TransferControl)?
        var isPaused = false
        var isSuspended = false
        var ending: CurlewError?
        /// Waits until bytes may go on.
        var wait: OneShot<Bool>?
        /// Waits for something else: only the end of the exchange cuts that short.
        var event: OneShot<Bool>?

        var isClear: Bool { ending != nil || !(isSuspended || isPaused) }
    }

    private let state = Lock(State())

    /// Most bytes in one call of a sink.
    private static let sliceSize = 256 * 1024

    // MARK: From the reader

    func resumeReceiving() {
        change {
            $0.isPaused = false
        } and: {
            $0.resumeReceiving()
        }
    }
    func suspend() {
        change {
            $0.isSuspended = true
        } and: {
            $0.suspend()
        }
    }
    func resume() {
        change {
            $0.isSuspended = false
        } and: {
            $0.resume()
        }
    }

    func cancel(with error: CurlewError) {
        change {
            if $0.ending == nil { $0.ending = error }
        } and: {
            $0.cancel(with: error)
        }
    }

    private func change(_ change: (inout State) -> Void, and tell: (any TransferControl) -> Void) {
        let (network, wait, event) = state.withLock { state in
            change(&state)
            return (state.network, state.isClear ? state.wait : nil, state.ending != nil ? state.event : nil)
        }
        if let network { tell(network) }
        wait?.resolve(true)
        event?.resolve(false)
    }

    // MARK: The network

    /// An exchange of the network carries on from here.
    func attach(_ network: any TransferControl) {
        let (ending, isSuspended, _) = state.withLock { state in
            (state.ending, state.isSuspended, exchange(&state.network, with: network))
        }
        if isSuspended { network.suspend() }
        if let ending { network.cancel(with: ending) }
    }

    func detach() { _ = state.withLock { exchange(&$0.network, with: nil) } }

    // MARK: Waiting

    /// Waits for something else; cancelling the exchange ends the wait with nil.
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

    /// Returns when bytes may go on; throws what the exchange was ended with.
    func clearance() async throws(CurlewError) {
        while true {
            let wait = OneShot<Bool>()
            let (isClear, ending) = state.withLock { state in
                if !state.isClear { state.wait = wait }
                return (state.isClear, state.ending)
            }
            if let ending { throw ending }
            if isClear { return }
            _ = await wait.waitThroughCancellation()
            _ = state.withLock { exchange(&$0.wait, with: nil) }
        }
    }

    // MARK: Delivery from a store

    /// Gives a stored response to a sink, as fast as that takes it. How many bytes of body it was.
    func deliver(
        _ head: ResponseHead,
        _ body: (any CacheReader)?,
        to sink: any TransferSink,
        limit: Int?
    ) async throws(CurlewError) -> Int64 {
        try await clearance()
        _ = try offer { sink.didReceive(head: head) }
        var delivered: Int64 = 0
        while let chunk = try await body?.next() {
            delivered += Int64(chunk.count)
            if let limit, delivered > limit {
                throw CurlewError(.limitExceeded, phase: .receive, reason: "the body is larger than \(limit) bytes")
            }
            var rest = chunk[...]
            while !rest.isEmpty {
                try await clearance()
                let slice = rest.prefix(Self.sliceSize)
                if try offer({ slice.withUnsafeBytes { sink.didReceive(body: $0) } }) {
                    rest = rest.dropFirst(slice.count)
                }
            }
        }
        // A sink that paused at the last byte holds the end back.
        try await clearance()
        return delivered
    }

    /// Asks the sink; false where it wants the same again. A pause counts from before the call, because `resumeReceiving`
    /// may come from another thread before it returns.
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
