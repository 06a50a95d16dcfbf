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
        var controls: [any TransferControl] = []
        var isSuspended = false
        var cancellation: CurlewError?
    }

    private let state = Lock(State())

    func add(_ control: any TransferControl) {
        let (isSuspended, cancellation) = state.withLock { state in
            state.controls.append(control)
            return (state.isSuspended, state.cancellation)
        }
        if let cancellation { control.cancel(with: cancellation) } else if isSuspended { control.suspend() }
    }

    func resumeReceiving() { for control in state.withLock({ $0.controls }) { control.resumeReceiving() } }

    func suspend() {
        let controls = state.withLock { state in
            state.isSuspended = true
            return state.controls
        }
        for control in controls { control.suspend() }
    }

    func resume() {
        let controls = state.withLock { state in
            state.isSuspended = false
            return state.controls
        }
        for control in controls { control.resume() }
    }

    func cancel(with error: CurlewError) {
        let controls = state.withLock { state in
            state.cancellation = state.cancellation ?? error
            return state.controls
        }
        for control in controls { control.cancel(with: error) }
    }
}
