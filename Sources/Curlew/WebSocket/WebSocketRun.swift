internal import CurlewCore
internal import CurlewLocks

/// The task of a WebSocket: one of the places where unstructured tasks start. The first verb starts it.
enum WebSocketRun {
    static func start(_ request: WebSocketRequest) {
        guard request.startsNow() else { return }
        Task { _ = await request.outcome(checksStatus: false) }
    }
}
