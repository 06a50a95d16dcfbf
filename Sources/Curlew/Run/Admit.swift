internal import CurlewCore

extension Run {
    /// Begins the next exchange, which monitors then know of. Returns `false` if the request is suspended.
    // Never inlined; see `Run`.
    @inline(never)
    func admits(_ hop: inout Hop) throws(CurlewError) -> Bool {
        let admission = request.admits(hop, as: task, events)
        // Monitors hear of the request once, even if the request is suspended and this step is repeated.
        if case .described = hop.announcement { hop.announcement = .none }
        switch admission {
        case .admitted: return true
        case .held: return false
        case .refused: throw request.cancellation
        }
    }
}
