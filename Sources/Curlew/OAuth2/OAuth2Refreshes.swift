internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The refresh tokens that a client is exchanging, and those that the server has replaced lately.
///
/// A server that rotates refresh tokens may revoke them all if it gets one twice. A caller may still have a token that
/// was replaced a moment ago, as the second of two interceptors does: it gets the new one from here.
struct OAuth2Refreshes {
    /// The exchange of a form for a token, and its result.
    typealias Exchange = OneShot<Result<OAuth2Token, CurlewError>>

    /// The decision about a refresh token.
    enum Step {
        /// The caller sends it.
        case begun
        /// The caller waits for the end of an exchange.
        case running(Exchange)
        /// The server has replaced it with this token.
        case replaced(OAuth2Token)
    }

    private struct Replacement {
        let refreshToken: Data
        let token: OAuth2Token
        /// The end of the exchange; `nil` while `onChange` has not returned.
        var end: ContinuousClock.Instant?
    }

    static let maximumCount = 256
    static let maximumAge = Duration.seconds(60)

    /// The exchanges that have not ended. The keys are bytes: different strings can be equal.
    private var running: [Data: Exchange] = [:]
    /// The oldest first.
    private var replacements: [Replacement] = []

    /// Begins the exchange of a refresh token, unless one is running or the server has replaced the token.
    mutating func begin(_ own: Exchange, for refreshToken: String, at now: ContinuousClock.Instant) -> Step {
        let key = Data(refreshToken.utf8)
        if let exchange = running[key] { return .running(exchange) }
        if let token = replacement(for: refreshToken, at: now) { return .replaced(token) }
        running[key] = own
        return .begun
    }

    /// Ends an exchange of the refresh token.
    mutating func end(_ own: Exchange, for refreshToken: String, at now: ContinuousClock.Instant) {
        let key = Data(refreshToken.utf8)
        // `own` may be nested: while `onChange` of the running exchange runs, the same token may be sent again without
        // being recorded in `running`. Its end changes nothing; the end of the outer exchange counts.
        if running[key] === own { running[key] = nil }
        guard running[key] == nil, let index = index(of: key) else { return }
        replacements[index].end = now
    }

    /// Records the server's response to a refresh token; `nil` for other grants. Must be called before `onChange`.
    mutating func record(_ token: OAuth2Token, for refreshToken: String?, at now: ContinuousClock.Instant) {
        removeExpired(at: now)
        // A refresh token that the server has just issued is not void, even if it was replaced before.
        if let issued = token.refreshToken { remove(Data(issued.utf8)) }
        guard let refreshToken else { return }
        let key = Data(refreshToken.utf8)
        guard token.refreshToken.map({ Data($0.utf8) }) != key else { return }
        remove(key)
        if replacements.count == Self.maximumCount { replacements.removeFirst() }
        replacements.append(Replacement(refreshToken: key, token: token))
    }

    /// Returns the token that has replaced the one with this refresh token, until `maximumAge` after the exchange.
    mutating func replacement(for refreshToken: String, at now: ContinuousClock.Instant) -> OAuth2Token? {
        removeExpired(at: now)
        return index(of: Data(refreshToken.utf8)).map { replacements[$0].token }
    }

    private func index(of key: Data) -> Int? { replacements.firstIndex { $0.refreshToken == key } }

    private mutating func remove(_ key: Data) { replacements.removeAll { $0.refreshToken == key } }

    private mutating func removeExpired(at now: ContinuousClock.Instant) {
        replacements.removeAll { $0.end.map { $0.duration(to: now) >= Self.maximumAge } ?? false }
    }
}

/// Passes new tokens to a client's `onChange`, one after the other in the order in which they arrived.
///
/// Concurrent calls could store the older of two tokens last.
final class OAuth2Changes: Sendable {
    private let handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?
    /// The end of the last call, which the next one waits for.
    private let last = Lock<OneShot<Void>?>(nil)

    init(_ handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?) { self.handler = handler }

    /// Calls the handler, after the calls before it. Must be called in a task that nothing cancels.
    ///
    /// `UserCode` treats each call as a separate refresh. A handler may send a request that waits for a refresh whose
    /// token waits here for the end of the handler. The later of the two then does not wait, because neither would end.
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
