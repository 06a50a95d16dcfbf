internal import CurlewCore
internal import CurlewLocks

/// Passes new tokens to a client's `onChange`, one after the other in the order in which they arrived.
///
/// Two calls at once could store the older of two tokens last.
final class OAuth2Changes: Sendable {
    private let handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?
    /// The end of the last call, which the next one waits for.
    private let last = Lock<OneShot<Void>?>(nil)

    init(_ handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?) { self.handler = handler }

    /// Calls the handler, after the calls before it. Must be called in a task that nothing cancels.
    ///
    /// To `UserCode`, a call is a refresh of its own. A handler may send a request that waits for a refresh, whose token
    /// waits here for the end of the handler: the later of the two then does not wait, because neither would end.
    func notify(_ token: OAuth2Token, replacing former: OAuth2Token?) async {
        guard let handler else { return }
        let calls = ObjectIdentifier(self)
        // The handler asks for a token itself.
        if UserCode.isInRefresh(of: calls) { return await handler(token, former) }
        let end = OneShot<Void>()
        if let previous = last.withLock({ exchange(&$0, with: end) }) {
            _ = await UserCode.waiting(forRefreshOf: calls) { await previous.waitThroughCancellation() }
        }
        await UserCode.call(by: .refresh(of: calls)) { await handler(token, former) }
        end.resolve(())
    }
}
