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

/// The user's decision about a response's head. The exchange may continue or end before it is made.
final class HeadAnswer: Sendable {
    private let disposition = OneShot<Request.ResponseDisposition>()
    private let carriedOut = OneShot<Void>()

    /// Whether the decision allows the body.
    var allowsBody: Bool { disposition.value == .allow || wantsFile }

    /// Whether the decision turns the body into a download.
    var wantsFile: Bool { disposition.value == .becomeDownload }

    /// Makes the decision, unless it was made before. `act` carries it out before the waiting tasks continue.
    func settle(_ answer: Request.ResponseDisposition, _ act: () -> Void) {
        guard disposition.resolve(answer) else { return }
        act()
        carriedOut.resolve(())
    }

    /// Returns when a decision was carried out, or the waiting task is cancelled.
    func wait() async { await carriedOut.wait() }
}

/// Asks for a decision about a response's head. The body waits for it.
typealias HeadHook =
    @Sendable (Request, LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
