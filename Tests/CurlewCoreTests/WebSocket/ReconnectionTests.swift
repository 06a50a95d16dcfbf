import Foundation
import Testing

@testable import CurlewCore

@Suite struct ReconnectionTests {
    private static let start = ContinuousClock.now
    private static let broken = CurlewError(.receiveFailed, phase: .receive)

    /// A generator that always returns one number. With zero, full jitter leaves no pause; with the maximum, nearly the
    /// whole pause.
    private struct Fixed: RandomNumberGenerator {
        var number: UInt64
        mutating func next() -> UInt64 { number }
    }

    private var random = Fixed(number: 0)

    private static func policy(_ change: (inout ReconnectionPolicy) -> Void = { _ in }) -> Reconnection {
        var policy = ReconnectionPolicy(jitter: .none)
        change(&policy)
        return Reconnection(policy)
    }

    @Test(
        "a lost connection is opened again only if its cause may be temporary",
        arguments: [
            (.cut, true), (.broken(broken), true), (.silent(after: .seconds(1)), true), (.unanswered, false),
            (.closed(.goingAway, reason: "", byPeer: true), true),
            (.closed(.serviceRestart, reason: "", byPeer: true), true),
            (.closed(.tryAgainLater, reason: "", byPeer: true), true),
            (.closed(.normalClosure, reason: "", byPeer: true), false),
            (.closed(.noStatusReceived, reason: "", byPeer: true), false),
            (.closed(.policyViolation, reason: "", byPeer: true), false),
            (.closed(.init(rawValue: 4000), reason: "", byPeer: true), false),
            (.closed(.goingAway, reason: "", byPeer: false), false),
            (.violated(.brokenProtocol("x")), false),
        ] as [(WebSocketEnding, Bool)])
    mutating func endings(ending: WebSocketEnding, isOpenedAgain: Bool) {
        var reconnection = Self.policy()
        reconnection.connectionOpened(at: Self.start)
        let pause = reconnection.connectionEnded(ending, at: Self.start + .seconds(60), using: &random)
        #expect((pause != nil) == isOpenedAgain)
    }

    @Test("a connection is opened again only after the configured close codes")
    mutating func codes() {
        let restart = WebSocketCloseCode(rawValue: 4010)
        var reconnection = Self.policy { $0.closeCodes = [restart] }
        let now = Self.start
        #expect(reconnection.connectionEnded(.cut, at: now, using: &random) == nil)
        let own = WebSocketEnding.closed(restart, reason: "", byPeer: true)
        #expect(reconnection.connectionEnded(own, at: now, using: &random) != nil)
    }

    @Test(
        "opening is tried again only if the failure may be temporary",
        arguments: [
            (.connectFailed, nil, true), (.resolveFailed, nil, true), (.firstByteTimedOut, nil, true),
            (.webSocketRefused, 503, true), (.webSocketRefused, 429, true), (.webSocketRefused, 403, false),
            (.webSocketRefused, 101, false), (.webSocketRefused, nil, false), (.certificateUntrusted, nil, false),
            (.invalidURL, nil, false), (.unsupported, nil, false), (.cancelled, nil, false), (.retryFailed, nil, false),
        ] as [(CurlewError.Code, Int?, Bool)])
    mutating func failures(code: CurlewError.Code, status: Int?, isTriedAgain: Bool) {
        var reconnection = Self.policy()
        let error = CurlewError(code, phase: .connect, responseCode: status)
        #expect((reconnection.openingFailed(error, using: &random) != nil) == isTriedAgain)
    }

    @Test("pauses double up to their maximum, and there are none beyond the limit")
    mutating func pauses() {
        var reconnection = Self.policy {
            $0.limit = 5
            $0.maximumDelay = .seconds(3)
        }
        let pauses = (0..<6).map { _ in reconnection.openingFailed(Self.broken, using: &random) }
        #expect(pauses == [.seconds(0.5), .seconds(1), .seconds(2), .seconds(3), .seconds(3), nil])
    }

    @Test("full jitter spreads pauses over their whole length", arguments: [0, UInt64.max])
    func jitter(number: UInt64) throws {
        var random = Fixed(number: number)
        var reconnection = Self.policy { $0.jitter = .full }
        let pause = try #require(reconnection.openingFailed(Self.broken, using: &random))
        #expect(number == 0 ? pause == .zero : pause > .milliseconds(499) && pause < .milliseconds(500))
    }

    @Test("the pause that a server asks for is the least one, and is bounded")
    mutating func retryAfter() {
        var reconnection = Self.policy()
        #expect(reconnection.openingFailed(Self.broken, retryAfter: .seconds(7), using: &random) == .seconds(7))
        #expect(reconnection.openingFailed(Self.broken, retryAfter: .seconds(7000), using: &random) == .seconds(30))
        #expect(reconnection.openingFailed(Self.broken, retryAfter: .zero, using: &random) == .seconds(2))
    }

    @Test("a connection that lasted resets the pauses, and a short one does not")
    mutating func stability() {
        var reconnection = Self.policy {
            $0.limit = 3
            $0.stableAfter = .seconds(10)
        }
        var now = Self.start
        func lose(after time: Duration) -> Duration? {
            reconnection.connectionOpened(at: now)
            now += time
            return reconnection.connectionEnded(.cut, at: now, using: &random)
        }
        #expect(lose(after: .seconds(1)) == .seconds(0.5))
        #expect(lose(after: .seconds(9)) == .seconds(1))
        #expect(lose(after: .seconds(10)) == .seconds(0.5))
        #expect(lose(after: .zero) == .seconds(1))
        #expect(lose(after: .zero) == .seconds(2))
        #expect(lose(after: .zero) == nil)
    }
}
