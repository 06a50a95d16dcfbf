internal import CurlewCore
internal import CurlewLocks

/// How far the segments of one file have come, for all who fetch them.
final class SegmentProgress: Sendable {
    private let plan: Lock<SegmentPlan>

    init(_ plan: SegmentPlan) { self.plan = Lock(plan) }

    var current: SegmentPlan { plan.withLock { $0 } }

    /// The count of the whole file, after so many more bytes of one segment.
    func wrote(_ count: Int, inSegment index: Int) -> TransferCount {
        plan.withLock { plan in
            plan.wrote(Int64(count), inSegment: index)
            return TransferCount(completed: plan.bytesWritten, total: plan.total)
        }
    }
}

/// The ways to all exchanges of a segmented download, as one. What was asked for before an exchange started
/// concerns it too.
final class SegmentControls: TransferControl {
    fileprivate struct State {
        /// By segment: an exchange that has ended makes room for the next.
        var controls: [Int: any TransferControl] = [:]
        var isSuspended = false
        var cancellation: CurlewError?
        /// What is to be carried out, in the order in which it was decided, and whether a thread is at it: without the lock,
        /// since transports are not Curlew's alone.
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
    /// Nil where nothing is left, or another thread is at it.
    fileprivate mutating func next() -> (@Sendable () -> Void)? {
        guard !isCarryingOut, !orders.isEmpty else { return nil }
        isCarryingOut = true
        return orders.removeFirst()
    }
}
