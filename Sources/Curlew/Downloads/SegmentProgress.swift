internal import CurlewCore
internal import CurlewLocks

/// The progress of the segments of one file, shared by their exchanges.
final class SegmentProgress: Sendable {
    private let plan: Lock<SegmentPlan>

    init(_ plan: SegmentPlan) { self.plan = Lock(plan) }

    var current: SegmentPlan { plan.withLock { $0 } }

    /// Counts bytes of a segment. Returns the count of the whole file.
    func wrote(_ count: Int, inSegment index: Int) -> TransferCount {
        plan.withLock { plan in
            plan.wrote(Int64(count), inSegment: index)
            return TransferCount(completed: plan.bytesWritten, total: plan.total)
        }
    }
}

/// The controls of all exchanges of a segmented download, as one. An exchange that starts later is also suspended or
/// cancelled.
final class SegmentControls: TransferControl {
    fileprivate struct State {
        /// By segment. The control of the next exchange replaces that of an ended one.
        var controls: [Int: any TransferControl] = [:]
        var isSuspended = false
        var cancellation: CurlewError?
        /// Commands in the order in which they were decided. One thread at a time carries them out, without the lock,
        /// because users can implement transports.
        var orders: [@Sendable () -> Void] = []
        var isCarryingOut = false
    }

    private let state = Lock(State())

    func add(_ control: any TransferControl, forSegment index: Int) {
        let former = state.withLock { state in
            if let cancellation = state.cancellation {
                state.orders.append { control.cancel(with: cancellation) }
            } else if state.isSuspended {
                state.orders.append { control.suspend() }
            }
            return state.controls.updateValue(control, forKey: index)
        }
        carryOut()
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

extension SegmentControls.State {
    /// `nil` if nothing is left, or if another thread is carrying out a command.
    fileprivate mutating func next() -> (@Sendable () -> Void)? {
        guard !isCarryingOut, !orders.isEmpty else { return nil }
        isCarryingOut = true
        return orders.removeFirst()
    }
}
