internal import CurlewCore

extension Run {
    /// Begins the next exchange, which monitors then know of. Returns whether it waits until the request is resumed.
    // Never inlined; see `Run`.
    @inline(never)
    func begin(_ hop: Hop) throws(CurlewError) -> Bool {
        guard let isHeld = request.begins(hop, as: task, events) else { throw request.cancellation }
        return isHeld
    }
}
