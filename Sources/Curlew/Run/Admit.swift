internal import CurlewCore

extension Run {
    /// Begins the next exchange, as soon as the request is not held. From here on monitors know of it.
    func admit(_ hop: inout Hop) async throws(CurlewError) {
        while true {
            let admission = request.admits(hop, as: task, events)
            // It is told once, held or not.
            if case .described = hop.announcement { hop.announcement = .none }
            switch admission {
            case .admitted: return
            case .held: try await request.untilLetGo(within: budget)
            case .refused: throw request.cancellation
            }
        }
    }
}
