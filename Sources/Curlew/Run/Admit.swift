internal import CurlewCore

extension Run {
    /// Waits until the next exchange may begin: not while the request is suspended.
    func admit() async throws(CurlewError) {
        if request.isHeld { try await request.untilLetGo(within: budget) }
    }
}
