internal import CurlewCore

extension Run {
    /// Begins the next exchange: from here on monitors know of it. False where the request is held.
    // Never inlined, as `Run` says of its steps.
    @inline(never)
    func admits(_ hop: inout Hop) throws(CurlewError) -> Bool {
        let admission = request.admits(hop, as: task, events)
        // It is told once, held or not.
        if case .described = hop.announcement { hop.announcement = .none }
        switch admission {
        case .admitted: return true
        case .held: return false
        case .refused: throw request.cancellation
        }
    }
}
