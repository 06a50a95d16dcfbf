internal import CurlewCore
internal import CurlewLocks

/// The task of a stream that is read as a sequence: one of the places that start unstructured tasks. The first `next()`
/// or `head()` starts it; leaving the iteration, or the end of its task, cancels the request.
enum StreamRun {
    /// `reads` tells whether the caller wants the body, and not only the head.
    static func start(_ request: DataStreamRequest, reads: Bool) {
        let isFirst = request.reading.withLock { reading in
            defer { reading.hasSequence = true }
            if reads { reading.hasReader = true }
            return !reading.hasSequence
        }
        guard isFirst else { return }
        let awaiting = request.awaited()
        var run = request
        if !reads, case .drive = awaiting.action {
            request.reading.withLock { $0.isDrivenForHeads = true }
            // The run does not keep the user's handle alive: releasing that ends a run whose body is not read.
            run = request.handleOfRun()
        }
        Task { [run] in _ = await run.outcome(of: awaiting, checksStatus: true) }
    }
}
