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
    enum Decision: Sendable {
        case allow
        /// The body belongs into this file.
        case file(BodyFile)
        case cancel
    }

    private let settled = OneShot<Decision>()
    private let carriedOut = OneShot<Void>()

    /// `nil` while the user has not decided.
    var decision: Decision? { settled.value }

    /// The file that the decision has chosen for the body.
    var file: BodyFile? { if case .file(let file) = decision { file } else { nil } }

    /// Whether the decision allows the body.
    var allowsBody: Bool {
        switch decision {
        case .allow, .file: true
        case .cancel, nil: false
        }
    }

    /// Makes the decision, unless it was made before. `act` carries it out before the waiting tasks continue.
    func settle(_ decision: Decision, _ act: () -> Void) {
        guard settled.resolve(decision) else { return }
        act()
        carriedOut.resolve(())
    }

    /// Makes a later decision void, because the exchange has ended: it would cancel the next attempt.
    func expire() { settle(.allow) {} }

    /// Returns when a decision was carried out, or the waiting task is cancelled.
    func wait() async { await carriedOut.wait() }
}

/// Asks for a decision about a response's head. The body waits for it.
typealias HeadHook =
    @Sendable (Request, LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
