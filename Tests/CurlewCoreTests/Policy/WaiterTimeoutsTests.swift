import CurlewCore
import Testing

@Suite struct WaiterTimeoutsTests {
    private static let joined = ContinuousClock.now

    private func limit(
        _ timeouts: Timeouts,
        remaining: Duration? = nil,
        heard: Duration? = nil
    ) -> (after: Duration, verdict: WaiterTimeouts.Verdict)? {
        WaiterTimeouts(timeouts, remaining: remaining, joined: Self.joined)
            .limit(lastBytes: heard.map { Self.joined.advanced(by: $0) })
            .map { ($0.instant - Self.joined, $0.verdict) }
    }

    private let timeouts = Timeouts(firstByte: .seconds(5), idle: .seconds(20))

    @Test func firstByteTimeoutAppliesUntilTheHead() throws {
        #expect(try #require(limit(timeouts)) == (.seconds(5), .firstByteTimedOut))
        #expect(try #require(limit(timeouts, heard: .seconds(4))) == (.seconds(24), .stalled))
        // The head arrived before this request joined.
        #expect(try #require(limit(timeouts, heard: .seconds(-100))) == (.seconds(20), .stalled))
    }

    @Test func totalTimeoutAppliesToWaiter() throws {
        #expect(try #require(limit(timeouts, remaining: .seconds(3))) == (.seconds(3), .totalTimedOut))
        #expect(try #require(limit(timeouts, remaining: .seconds(9))) == (.seconds(5), .firstByteTimedOut))
        #expect(
            try #require(limit(timeouts, remaining: .seconds(9), heard: .zero)) == (.seconds(9), .totalTimedOut))
    }

    @Test func disabledTimeoutsSetNoLimit() throws {
        let none = Timeouts(firstByte: nil, idle: nil)
        #expect(limit(none) == nil && limit(none, heard: .zero) == nil)
        #expect(try #require(limit(none, remaining: .seconds(1))) == (.seconds(1), .totalTimedOut))
    }
}
