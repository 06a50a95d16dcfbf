internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A response that may not be the answer: a redirect, or a challenge that the session can answer.
///
/// Its exchange keeps it until the run has decided whether to send another request. Nobody else sees it before that:
/// not the request, not its delegate, not monitors.
struct ProvisionalResponse: Sendable {
    let head: ResponseHead
    private(set) var body = Data()

    /// The maximum number of body bytes that are kept.
    static let limit = 1024 * 1024

    init(_ head: ResponseHead) { self.head = head }

    /// Stores body bytes. Throws if they exceed the limit: an endless body must not delay the next request forever.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) throws(CurlewError) {
        guard bytes.count <= Self.limit - body.count else {
            let isRedirect = head.status < 400
            throw CurlewError(
                .limitExceeded, phase: isRedirect ? .redirect : .receive,
                reason: "\(isRedirect ? "a redirect" : "a challenge")'s body is larger than \(Self.limit) bytes")
        }
        body.append(contentsOf: bytes)
    }
}

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
