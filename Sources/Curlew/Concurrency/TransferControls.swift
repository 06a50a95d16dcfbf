internal import CurlewCore
internal import CurlewLocks

/// The controls of several exchanges, as one: those of a segmented download, or those that a middleware has sent.
///
/// An exchange that starts after `suspend` or `cancel` is suspended or cancelled at once.
final class TransferControls: TransferControl {
    fileprivate struct State {
        /// By the caller's keys. The control of a key's next exchange replaces that of an ended one.
        var controls: [Int: any TransferControl] = [:]
        var isSuspended = false
        var cancellation: CurlewError?
        /// Commands in the order in which they were decided. One thread at a time carries them out, without the lock,
        /// because users can implement transports.
        var orders: [@Sendable () -> Void] = []
        var isCarryingOut = false
    }

    private let state = Lock(State())

    func add(_ control: any TransferControl, for key: Int) {
        let former = state.withLock { state in
            if let cancellation = state.cancellation {
                state.orders.append { control.cancel(with: cancellation) }
            } else if state.isSuspended {
                state.orders.append { control.suspend() }
            }
            return state.controls.updateValue(control, forKey: key)
        }
        carryOut()
        withExtendedLifetime(former) {}
    }

    /// Releases the control of an exchange that has ended.
    func remove(_ key: Int) {
        let former = state.withLock { $0.controls.removeValue(forKey: key) }
        withExtendedLifetime(former) {}
    }

    private func order(_ change: (inout State) -> Void, _ order: @escaping @Sendable (any TransferControl) -> Void) {
        state.withLock { state in
            change(&state)
            for control in state.controls.values { state.orders.append { order(control) } }
        }
        carryOut()
    }

    private func carryOut() {
        while let order = state.withLock({ state in state.next() }) {
            order()
            state.withLock { $0.isCarryingOut = false }
        }
    }

    func resumeReceiving() {
        order({ _ in }, { $0.resumeReceiving() })
    }

    func suspend() {
        order({ $0.isSuspended = true }, { $0.suspend() })
    }

    func resume() {
        order({ $0.isSuspended = false }, { $0.resume() })
    }

    func cancel(with error: CurlewError) {
        order({ $0.cancellation = $0.cancellation ?? error }, { $0.cancel(with: error) })
    }
}

extension TransferControls.State {
    /// Removes and returns the next command; `nil` if there is none, or if another thread is carrying one out and will
    /// ask again.
    fileprivate mutating func next() -> (@Sendable () -> Void)? {
        guard !isCarryingOut, !orders.isEmpty else { return nil }
        isCarryingOut = true
        return orders.removeFirst()
    }
}
