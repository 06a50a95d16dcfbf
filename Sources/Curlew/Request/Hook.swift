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

/// Somebody's answer about a response's head. The exchange may have been let go on for other reasons than it.
final class HeadAnswer: Sendable {
    private let disposition = Lock<Request.ResponseDisposition?>(nil)

    /// Whether the body may come.
    var allowsBody: Bool { disposition.withLock { $0 == .allow } }

    /// Only the first answer counts.
    func isFirst(_ answer: Request.ResponseDisposition) -> Bool {
        disposition.withLock { disposition in
            guard disposition == nil else { return false }
            disposition = answer
            return true
        }
    }
}

/// Who is asked about a response's head before its body is received.
enum HeadHook: Sendable {
    /// The body waits for the answer.
    case asking(@Sendable (LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void)
    /// It does not.
    case telling(@Sendable (LazyResponse) -> Void)
}
