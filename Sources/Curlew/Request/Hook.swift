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

/// An answer about a response's head. The exchange may have gone on for other reasons than it.
final class HeadAnswer: Sendable {
    private let disposition = OneShot<Request.ResponseDisposition>()
    private let carriedOut = OneShot<Void>()

    /// Whether the body may come.
    var allowsBody: Bool { disposition.value == .allow || wantsFile }

    /// Whether it goes into a file.
    var wantsFile: Bool { disposition.value == .becomeDownload }

    /// Only the first answer counts. `act` carries it out, before those who wait for it go on.
    func settle(_ answer: Request.ResponseDisposition, _ act: () -> Void) {
        guard disposition.resolve(answer) else { return }
        act()
        carriedOut.resolve(())
    }

    /// Returns when an answer was carried out, or the waiting task is cancelled.
    func wait() async { await carriedOut.wait() }
}

/// Asks about a response's head: the body waits for the answer.
typealias HeadHook =
    @Sendable (Request, LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
