internal import CurlewCore

extension Run {
    /// Begins the next exchange, which monitors then know of. Returns whether `send` has to wait, and to start it.
    // Never inlined; see `Run`.
    @inline(never)
    func begin(_ hop: Hop) throws(CurlewError) -> Bool {
        let isHeld = request.begins(hop, as: task, readsOptions: !attempt.isAskedFor, events)
        guard let isHeld else { throw request.cancellation }
        return isHeld
    }
}
