internal import CurlewCore
internal import CurlewLocks

/// The task of a stream that is read as a sequence: one of the places where unstructured tasks start. The first
/// `next()` or `head()` starts it; leaving the iteration, or the end of its task, cancels the request.
enum StreamRun {
    /// `reads`: what asks wants the body.
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
            // Releasing the user's handle ends a run that nothing reads.
            run = request.handleOfRun()
        }
        Task { [run] in _ = await run.outcome(of: awaiting, checksStatus: true) }
    }
}
