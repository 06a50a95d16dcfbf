import CurlewCore
import Testing

@Suite("Event reconnection", .timeLimit(.minutes(4)))
struct EventReconnectionTests {
    static func error(_ code: CurlewError.Code, status: Int? = nil) -> CurlewError {
        CurlewError(code, phase: .receive, responseCode: status)
    }

    @Test("an orderly end is followed by a new connection, unless the status is 204")
    func ends() {
        var state = EventReconnection()
        #expect(state.ended(status: 200) == .reconnect(after: .seconds(3)))
        state.serverAsked(for: .milliseconds(200))
        #expect(state.ended(status: nil) == .reconnect(after: .milliseconds(200)))
        #expect(state.ended(status: 204) == .end)
    }

    @Test("the delay that a server asks for is limited to the shortest and the longest")
    func clampsTheServersDelay() {
        func delay(asked: Duration, own: Duration = .seconds(3), maximum: Duration = .seconds(60))
            -> EventReconnection.Action
        {
            var state = EventReconnection(delay: own, maximumDelay: maximum)
            state.serverAsked(for: asked)
            return state.ended(status: 200)
        }
        #expect(delay(asked: .zero) == .reconnect(after: .milliseconds(100)))
        #expect(delay(asked: .seconds(59)) == .reconnect(after: .seconds(59)))
        #expect(delay(asked: .milliseconds(Int64.max)) == .reconnect(after: .seconds(60)))
        #expect(delay(asked: .zero, own: .milliseconds(20)) == .reconnect(after: .milliseconds(20)))
        #expect(delay(asked: .seconds(5), maximum: .milliseconds(10)) == .reconnect(after: .milliseconds(10)))
    }

    @Test("after the server has asked for an endless delay, failures wait for the maximum")
    func clampsTheServersDelayAfterFailures() {
        var state = EventReconnection()
        state.serverAsked(for: .milliseconds(Int64.max))
        for _ in 0..<3 {
            #expect(state.failed(with: Self.error(.connectFailed), random: 1) == .reconnect(after: .seconds(60)))
        }
    }

    @Test(
        "a temporary failure is followed by a new connection, and a permanent one is reported",
        arguments: [
            (error(.receiveFailed), true), (error(.truncated), true), (error(.connectFailed), true),
            (error(.idleTimedOut), true), (error(.resolveFailed), true),
            (error(.unacceptableStatus, status: 503), true),
            (error(.unacceptableStatus, status: 429), true), (error(.unacceptableStatus, status: 401), false),
            (error(.unacceptableStatus, status: 404), false), (error(.unacceptableStatus), false),
            (error(.cancelled), false), (error(.sessionClosed), false), (error(.limitExceeded), false),
            (error(.certificateUntrusted), false), (error(.unacceptableContentType), false),
        ])
    func kinds(_ error: CurlewError, _ reconnects: Bool) {
        var state = EventReconnection()
        #expect(state.failed(with: error, random: 0) == (reconnects ? .reconnect(after: .seconds(3)) : .fail))
    }

    @Test("delays double up to the maximum, and jitter shortens them by at most half")
    func backoff() {
        var low = EventReconnection(delay: .seconds(1), maximumDelay: .seconds(6))
        var high = low
        let lows = (0..<5).map { _ in low.failed(with: Self.error(.connectFailed), random: 0) }
        let highs = (0..<5).map { _ in high.failed(with: Self.error(.connectFailed), random: 1) }
        #expect(lows == [1, 1, 2, 3, 3].map { .reconnect(after: .seconds($0)) })
        #expect(highs == [1, 2, 4, 6, 6].map { .reconnect(after: .seconds($0)) })
    }

    @Test("too many failures in a row end the stream, and received bytes reset their number")
    func giveUp() {
        var state = EventReconnection(delay: .zero, maximumFailures: 2)
        let error = Self.error(.connectFailed)
        #expect(state.failed(with: error, random: 0) == .reconnect(after: .zero))
        #expect(state.failed(with: error, random: 0) == .reconnect(after: .zero))
        state.streamed()
        #expect(state.failed(with: error, random: 0) == .reconnect(after: .zero))
        #expect(state.failed(with: error, random: 0) == .reconnect(after: .zero))
        #expect(state.failed(with: error, random: 0) == .fail)
    }

    @Test("the delay does not overflow after many failures")
    func manyFailures() {
        var state = EventReconnection(delay: .seconds(1 << 40), maximumDelay: .seconds(60), maximumFailures: .max)
        for _ in 0..<200 {
            #expect(state.failed(with: Self.error(.connectFailed), random: 1) == .reconnect(after: .seconds(1 << 40)))
        }
    }
}
