internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import FoundationNetworking

/// A user's closure and the queue to call it on.
struct Hook<Value: Sendable>: Sendable {
    let queue: DispatchQueue
    let body: @Sendable (Value) -> Void
    let handoff = Handoff()

    func call(_ value: Value) {
        let body = body
        handoff(to: queue) { body(value) }
    }
}

/// Asks for a decision about a response's head. The body waits for it.
typealias HeadHook =
    @Sendable (Request, LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
