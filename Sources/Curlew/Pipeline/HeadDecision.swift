internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The user's decision about a response's head, which the body waits for. The exchange may end before it is made.
final class HeadDecision: Sendable {
    private let isMade = Lock(false)
    private let carriedOut = OneShot<Void>()

    /// Makes the decision by carrying it out, unless it was made or has expired.
    func make(_ act: () -> Void) {
        guard isMade.withLock({ !exchange(&$0, with: true) }) else { return }
        act()
        carriedOut.resolve(())
    }

    /// Makes a later decision void, because the exchange has ended. Returns when a decision that another thread is
    /// carrying out has been carried out: otherwise its delegate could begin after the exchange was closed.
    func expire() async {
        make {}
        _ = await carriedOut.waitThroughCancellation()
    }

    /// Returns when the decision was carried out, or the waiting task is cancelled.
    func wait() async { await carriedOut.wait() }
}
