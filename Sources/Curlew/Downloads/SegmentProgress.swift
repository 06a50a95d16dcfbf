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
    private struct State {
        /// By segment: an exchange that has ended makes room for the next.
        var controls: [Int: any TransferControl] = [:]
        var isSuspended = false
        var cancellation: CurlewError?
    }

    private let state = Lock(State())

    // A control only enqueues: it is called under the lock, so that all exchanges get what several threads ask
    // for in one order.

    func add(_ control: any TransferControl, forSegment index: Int) {
        state.withLock { state in
            state.controls[index] = control
            if let cancellation = state.cancellation {
                control.cancel(with: cancellation)
            } else if state.isSuspended {
                control.suspend()
            }
        }
    }

    func resumeReceiving() {
        state.withLock { state in for control in state.controls.values { control.resumeReceiving() } }
    }

    func suspend() {
        state.withLock { state in
            state.isSuspended = true
            for control in state.controls.values { control.suspend() }
        }
    }

    func resume() {
        state.withLock { state in
            state.isSuspended = false
            for control in state.controls.values { control.resume() }
        }
    }

    func cancel(with error: CurlewError) {
        state.withLock { state in
            state.cancellation = state.cancellation ?? error
            for control in state.controls.values { control.cancel(with: error) }
        }
    }
}
