import CurlewCore
import Testing

@testable import Curlew

@Suite("The record of refresh tokens")
struct OAuth2RefreshesTests {
    private enum Event {
        case begin
        case record(String, String?, for: String?)
        case end
    }

    private let start = ContinuousClock.now

    /// Events with their seconds, and the access token that replaces the refresh token "r" at the last second.
    private static let cases: [(events: [(at: Int, Event)], at: Int, expected: String?)] = [
        ([], 0, nil),
        ([(0, .begin)], 0, nil),
        // A failed exchange.
        ([(0, .begin), (1, .end)], 1, nil),
        // The server has kept the refresh token.
        ([(0, .begin), (1, .record("a", "r", for: "r")), (1, .end)], 1, nil),
        ([(0, .begin), (1, .record("a", "s", for: "r"))], 1, "a"),
        ([(0, .begin), (1, .record("a", nil, for: "r"))], 1, "a"),
        // `onChange` takes long, so the exchange has not ended.
        ([(0, .begin), (1, .record("a", "s", for: "r"))], 1000, "a"),
        ([(0, .begin), (1, .record("a", "s", for: "r")), (500, .end)], 559, "a"),
        ([(0, .begin), (1, .record("a", "s", for: "r")), (500, .end)], 560, nil),
        // Other tokens.
        ([(0, .begin), (1, .record("a", "s", for: "q"))], 1, nil),
        ([(0, .begin), (1, .record("a", "s", for: nil))], 1, nil),
        ([(1, .record("a", "s", for: "r")), (2, .record("b", "t", for: "s"))], 2, "a"),
        ([(1, .record("a", "s", for: "r")), (2, .record("b", "t", for: "r"))], 2, "b"),
        // The server issues the refresh token once more.
        ([(1, .record("a", "s", for: "r")), (2, .record("b", "r", for: "s"))], 2, nil),
        ([(1, .record("a", "s", for: "r")), (2, .record("b", "r", for: nil))], 2, nil),
    ]

    @Test(
        "a used refresh token leads to the new token until a minute after its exchange has ended",
        arguments: cases.indices)
    func replacements(index: Int) {
        let (events, second, expected) = Self.cases[index]
        var refreshes = OAuth2Refreshes()
        let own = OAuth2Refreshes.Flight()
        for (second, event) in events {
            let now = start + .seconds(second)
            switch event {
            case .begin: _ = refreshes.begin(own, for: "r", at: now)
            case .record(let access, let refresh, let former):
                refreshes.record(OAuth2Token(accessToken: access, refreshToken: refresh), for: former, at: now)
            case .end: refreshes.end(own, for: "r", at: now)
            }
        }
        #expect(refreshes.replacement(for: "r", at: start + .seconds(second))?.accessToken == expected)
    }

    @Test("a caller waits for a running token exchange, even if its response has arrived")
    func steps() {
        var refreshes = OAuth2Refreshes()
        let (own, inner) = (OAuth2Refreshes.Flight(), OAuth2Refreshes.Flight())
        func step() -> String {
            switch refreshes.begin(own, for: "r", at: start) {
            case .begun: "begun"
            case .running(let flight): flight === own ? "running" : "another"
            case .replaced(let token): token.accessToken
            }
        }
        #expect(step() == "begun")
        #expect(step() == "running")
        refreshes.end(own, for: "r", at: start)
        #expect(step() == "begun")
        refreshes.record(OAuth2Token(accessToken: "a", refreshToken: "s"), for: "r", at: start)
        // A request that the running one waits for, and that has not begun in the record.
        refreshes.end(inner, for: "r", at: start)
        #expect(step() == "running")
        #expect(refreshes.replacement(for: "r", at: start + .seconds(100))?.accessToken == "a")
        refreshes.end(own, for: "r", at: start)
        #expect(step() == "a")
    }

    @Test("refresh tokens are compared by their bytes")
    func bytes() {
        var refreshes = OAuth2Refreshes()
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(composed == decomposed)
        _ = refreshes.begin(OAuth2Refreshes.Flight(), for: composed, at: start)
        guard case .begun = refreshes.begin(OAuth2Refreshes.Flight(), for: decomposed, at: start) else {
            Issue.record("the two tokens share a flight")
            return
        }
        refreshes.record(OAuth2Token(accessToken: "a", refreshToken: decomposed), for: composed, at: start)
        #expect(refreshes.replacement(for: composed, at: start)?.accessToken == "a")
        #expect(refreshes.replacement(for: decomposed, at: start) == nil)
    }

    @Test("beyond the maximum number of replacements, the oldest one is dropped")
    func bound() {
        var refreshes = OAuth2Refreshes()
        for number in 0...OAuth2Refreshes.maximumCount {
            let token = OAuth2Token(accessToken: "a\(number)", refreshToken: "s\(number)")
            refreshes.record(token, for: "r\(number)", at: start)
        }
        #expect(refreshes.replacement(for: "r0", at: start) == nil)
        for number in [1, OAuth2Refreshes.maximumCount] {
            #expect(refreshes.replacement(for: "r\(number)", at: start)?.accessToken == "a\(number)")
        }
    }
}
