internal import CurlewCore
internal import CurlewLocks

/// Tells the control of a transfer whether it is suspended: the latest state, and one thread at a time.
///
/// `suspend()` and `resume()` may be called on two threads at once. If each thread called the control, the calls could
/// arrive in the wrong order: the transfer would then stay suspended for ever, or continue despite the suspension. So
/// the owner's lock decides the order. One thread calls the control, without the lock, because users can implement
/// transports, and repeats that until the control knows the latest state. A second thread that arrives meanwhile
/// returns at once, because the first one checks the state again after its call.
///
/// A value. Call `next` under the owner's lock, under which the suspension is read, too:
///
///     SuspensionRelay.run { done in
///         state.withLock { $0.relay.next(after: done, isSuspended: $0.isSuspended) }
///     }
struct SuspensionRelay: Sendable {
    /// One call of a control. A class, because identity tells a call of a replaced control from one of its successor.
    final class Call: Sendable {
        let control: any TransferControl
        let isSuspending: Bool

        fileprivate init(_ control: any TransferControl, isSuspending: Bool) {
            self.control = control
            self.isSuspending = isSuspending
        }

        fileprivate func make() { if isSuspending { control.suspend() } else { control.resume() } }
    }

    /// `nil` before the transfer starts, and after its end.
    private(set) var control: (any TransferControl)?
    /// The last state that the control was told.
    private var isSuspended = false
    /// The call that a thread is making.
    private var current: Call?

    /// Replaces the control. The new one has been told nothing, and nobody is calling it. Returns the former one, to be
    /// released without the lock, because it may be a user's.
    mutating func attach(_ control: (any TransferControl)?) -> (any TransferControl)? {
        (isSuspended, current) = (false, nil)
        return exchange(&self.control, with: control)
    }

    /// Marks the call `done` as made, and returns the next one for the calling thread. Returns `nil` if the control
    /// knows the state, or if another thread is calling it.
    mutating func next(after done: Call?, isSuspended: Bool) -> Call? {
        if current === done { current = nil }
        guard let control, current == nil, self.isSuspended != isSuspended else { return nil }
        let call = Call(control, isSuspending: isSuspended)
        (current, self.isSuspended) = (call, isSuspended)
        return call
    }

    /// Makes the calls that `next` returns, one after the other, and passes each to `next` when it has been made.
    static func run(_ next: (_ done: Call?) -> Call?) {
        var call = next(nil)
        while let made = call {
            made.make()
            call = next(made)
        }
    }
}

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
