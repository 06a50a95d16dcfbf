internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import FoundationNetworking

/// A user's closure and the queue it wants to be called on.
struct Hook<Value: Sendable>: Sendable {
    let queue: DispatchQueue
    let body: @Sendable (Value) -> Void
    let handoff = Handoff()

    func call(_ value: Value) {
        let body = body
        handoff(to: queue) { body(value) }
    }
}

/// Who is asked about a response's head before its body is received.
enum HeadHook: Sendable {
    /// The body waits for the answer.
    case asking(@Sendable (LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void)
    /// It does not.
    case telling(@Sendable (LazyResponse) -> Void)
}
