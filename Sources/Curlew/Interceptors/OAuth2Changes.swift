internal import CurlewCore
internal import CurlewLocks

/// Tells a client's `onChange` of new tokens, one after the other in the order in which they arrived.
///
/// Two calls at once could store the older of two tokens last.
final class OAuth2Changes: Sendable {
    /// A call, until its end.
    private struct Call: Sendable {
        let client: ObjectIdentifier
        let end = OneShot<Void>()
    }

    private let handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?
    /// The last call, which the next one waits for.
    private let last = Lock<Call?>(nil)

    /// The calls around the task. A task that a call has started inherits them, and may outlive them.
    @TaskLocal private static var around: [Call] = []

    init(_ handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?) { self.handler = handler }

    /// Calls the handler, after the calls before it. Must be called in a task that nothing cancels.
    func tell(_ token: OAuth2Token, replacing former: OAuth2Token?) async {
        guard let handler else { return }
        let call = Call(client: ObjectIdentifier(self))
        let around = Self.around.filter { $0.end.value == nil }
        // The handler asks for a token itself: to wait for its end, or for calls that wait for it, would be a deadlock.
        if around.contains(where: { $0.client == call.client }) { return await handler(token, former) }
        let previous = last.withLock { exchange(&$0, with: call) }
        await previous?.end.waitThroughCancellation()
        await Self.$around.withValue(around + [call]) { await handler(token, former) }
        call.end.resolve(())
    }
}
