internal import CurlewCore
internal import CurlewLocks

/// Combines the controls of several exchanges: those of a segmented download, those that a middleware has sent, or the
/// copies of a hedged request.
///
/// An exchange that starts after `suspend` or `cancel` is suspended or cancelled at once.
final class CombinedControl: TransferControl {
    private struct State {
        /// The relays by the caller's keys. The control of a key's next exchange replaces that of an ended one.
        var relays: [Int: SuspensionRelay] = [:]
        var isSuspended = false
        var cancellation: CurlewError?

        var controls: [any TransferControl] { relays.values.compactMap(\.control) }
    }

    private let state = Lock(State())

    /// Whether an exchange that starts now would be suspended or cancelled at once.
    var holdsExchanges: Bool { state.withLock { $0.isSuspended || $0.cancellation != nil } }

    func add(_ control: any TransferControl, for key: Int) {
        let (former, cancellation) = state.withLock { state in
            (state.relays[key, default: SuspensionRelay()].attach(control), state.cancellation)
        }
        if let cancellation { control.cancel(with: cancellation) } else { relaySuspension(to: [key]) }
        withExtendedLifetime(former) {}
    }

    /// Releases the control of an exchange that has ended.
    func remove(_ key: Int) {
        let former = state.withLock { $0.relays.removeValue(forKey: key) }
        withExtendedLifetime(former) {}
    }

    private func relaySuspension(to keys: [Int]) {
        for key in keys {
            SuspensionRelay.run { done in
                state.withLock { $0.relays[key]?.next(after: done, isSuspended: $0.isSuspended) }
            }
        }
    }

    private func setSuspended(_ isSuspended: Bool) {
        let keys = state.withLock { state in
            state.isSuspended = isSuspended
            return Array(state.relays.keys)
        }
        relaySuspension(to: keys)
    }

    func suspend() { setSuspended(true) }

    func resume() { setSuspended(false) }

    func resumeReceiving() {
        for control in state.withLock({ $0.controls }) { control.resumeReceiving() }
    }

    func cancel(with error: CurlewError) {
        let controls = state.withLock { state in
            state.cancellation = state.cancellation ?? error
            return state.controls
        }
        for control in controls { control.cancel(with: error) }
    }
}
