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
    private struct State {
        var disposition: Request.ResponseDisposition?
        /// The answer has been carried out.
        var isSettled = false
        var waiter: UnsafeContinuation<Void, Never>?
    }

    private let state = Lock(State())

    /// Whether the body may come.
    var allowsBody: Bool { state.withLock { $0.disposition == .allow || $0.disposition == .becomeDownload } }

    /// Whether it goes into a file.
    var wantsFile: Bool { state.withLock { $0.disposition == .becomeDownload } }

    /// Only the first answer counts. `act` carries it out, before whoever waits for it goes on.
    func settle(_ answer: Request.ResponseDisposition, _ act: () -> Void) {
        let isFirst = state.withLock { state in
            guard state.disposition == nil else { return false }
            state.disposition = answer
            return true
        }
        guard isFirst else { return }
        act()
        let waiter = state.withLock { state in
            state.isSettled = true
            return exchange(&state.waiter, with: nil)
        }
        waiter?.resume()
    }

    /// Returns when an answer was carried out, or the waiting task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let mayWait = state.withLock { state in
                    guard !state.isSettled, !Task.isCancelled else { return false }
                    state.waiter = continuation
                    return true
                }
                if !mayWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { exchange(&$0.waiter, with: nil) }?.resume()
        }
    }
}

/// Asks about a response's head: the body waits for the answer.
typealias HeadHook = @Sendable (LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
