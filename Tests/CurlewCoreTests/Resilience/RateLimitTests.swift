internal import CurlewCore
internal import CurlewTesting
internal import Foundation
internal import Testing

@Suite("Rate limits", .timeLimit(.minutes(4)))
struct RateLimitTests {
    /// A token bucket, which the cell rate must equal. It holds `burst` tokens, and one returns in each `interval`.
    private struct Bucket {
        let interval: Duration
        let burst: Int
        /// The times at which the taken tokens return, in order.
        var back: [Duration] = []

        func opens(at now: Duration) -> Duration {
            let missing = back.filter { $0 > now }
            // The request needs one token, so the oldest of the last `burst` missing ones has to return.
            return missing.count < burst ? now : missing[missing.count - burst]
        }

        mutating func take(at now: Duration) {
            back.append(max(back.last ?? now, now) + interval)
        }
    }

    @Test("the cell rate admits exactly when a token bucket has a token", arguments: 0..<200 as Range<UInt64>)
    func cellRate(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let count = Int.random(in: 1...50, using: &random)
        let burst = Int.random(in: 1...20, using: &random)
        let period = Duration.milliseconds(Int.random(in: 1...5_000, using: &random) * count)
        var rate = CellRate(count, per: period, burst: burst)
        var bucket = Bucket(interval: period / count, burst: burst)
        var now = Duration.zero
        for _ in 0..<400 {
            if Bool.random(using: &random) { now += rate.interval * Int.random(in: 0...3, using: &random) / 2 }
            #expect(rate.opens(at: now) == bucket.opens(at: now))
            guard rate.opens(at: now) == now else { continue }
            rate.admit(at: now)
            bucket.take(at: now)
        }
    }

    @Test("in any period at most count + burst requests are sent", arguments: 0..<50 as Range<UInt64>)
    func bound(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let (count, burst) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...10, using: &random))
        var rate = CellRate(count, per: .seconds(1), burst: burst)
        var sent: [Duration] = []
        var now = Duration.zero
        for _ in 0..<500 {
            now += .microseconds(Int.random(in: 0...40_000, using: &random))
            let turn = rate.opens(at: now)
            #expect(turn >= now)
            now = turn
            rate.admit(at: now)
            sent.append(now)
        }
        for (index, first) in sent.enumerated() {
            #expect(sent[index...].prefix { $0 - first < .seconds(1) }.count <= count + burst)
        }
    }

    @Test("the wait of a request includes the intervals of those before it")
    func ahead() {
        var rate = CellRate(10, per: .seconds(1), burst: 2)
        #expect(rate.opens(after: 1, at: .zero) == .zero)
        #expect(rate.opens(after: 2, at: .zero) == .milliseconds(100))
        rate.admit(at: .zero)
        #expect(rate.opens(after: 1, at: .zero) == .milliseconds(100))
    }

    @Test("extreme numbers cause no trap, and the first request is admitted")
    func absurd() {
        for count in [Int.min, 0, 1, .max] {
            for burst in [Int.min, 0, 1, .max] {
                for period in [Duration.seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max / 4)] {
                    var rate = CellRate(count, per: period, burst: burst)
                    #expect(rate.opens(at: .zero) == .zero)
                    rate.admit(at: .zero)
                    #expect(rate.opens(at: .zero) >= .zero)
                }
            }
        }
    }

    // MARK: Limits from the server

    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test(
        "the rate limit fields of a response are read in all their forms",
        arguments: [
            (["Retry-After": "30"], 429, .seconds(30), nil, nil),
            (["Retry-After": "30"], 503, .seconds(30), nil, nil),
            (["Retry-After": "30"], 200, nil, nil, nil),
            (["Retry-After": "99999999"], 429, .seconds(3600), nil, nil),
            (["Retry-After": "soon"], 429, nil, nil, nil),
            (["RateLimit": #""default";r=5;t=10"#], 200, nil, 5, .seconds(10)),
            (["RateLimit": #""burst";r=5;t=1, "day";r=2;t=600"#], 200, nil, 2, .seconds(600)),
            (
                ["RateLimit": #""a";r=0"#, "RateLimit-Policy": #""b";q=9;w=1, "a";q=10;w=60"#], 200, nil, 0,
                .seconds(60)
            ),
            (["RateLimit": #""a";r=1"#], 200, nil, nil, nil),
            (["RateLimit": "limit=100, remaining=50, reset=5"], 200, nil, 50, .seconds(5)),
            (["RateLimit": #""a";r=-1;t=5"#], 200, nil, nil, nil),
            (["X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "60"], 200, nil, 3, .seconds(60)),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000020"], 403, nil, 0, .seconds(20)),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000000"], 403, nil, 0, .zero),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "nan"], 403, nil, nil, nil),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1e300"], 403, nil, 0, .seconds(3600)),
            (["X-RateLimit-Remaining": "all"], 200, nil, nil, nil),
            ([:], 429, nil, nil, nil),
        ] as [([String: String], Int, Duration?, Int?, Duration?)])
    func fields(fields: [String: String], status: Int, pause: Duration?, remaining: Int?, reset: Duration?) {
        let advice = ServerAdvice(HTTPHeaders(fields), status: status, now: Self.now)
        #expect(advice?.pause == pause)
        #expect(advice?.remaining == remaining)
        #expect(advice?.reset == reset)
        #expect((advice == nil) == (pause == nil && remaining == nil))
    }

    @Test("a quota admits the remaining requests, and opens when its window ends")
    func quota() throws {
        var quota = ServerQuota()
        #expect(quota.opens(at: .zero) == .zero)
        var advice = try #require(ServerAdvice(["RateLimit": #""a";r=2;t=10"#], status: 200, now: Self.now))
        quota.learn(advice, at: .zero)
        quota.admit(at: .seconds(1))
        #expect(quota.opens(at: .seconds(1)) == .seconds(1))
        quota.admit(at: .seconds(1))
        #expect(quota.opens(at: .seconds(1)) == .seconds(10))
        // A late response of the window does not know about requests that were admitted since.
        (advice.remaining, advice.reset) = (9, .seconds(8))
        quota.learn(advice, at: .seconds(2))
        #expect(quota.opens(at: .seconds(2)) == .seconds(10))
        #expect(quota.opens(at: .seconds(10)) == .seconds(10) && quota.isIdle(at: .seconds(10)))
        quota.learn(advice, at: .seconds(20))
        #expect(quota.opens(at: .seconds(20)) == .seconds(20))
    }

    @Test("a window that slides or was wrong is replaced by the window of the last response")
    func slidingWindow() throws {
        let plenty = try #require(ServerAdvice(["RateLimit": #""a";r=99;t=60"#], status: 200, now: Self.now))
        var quota = ServerQuota()
        for second in stride(from: 0, to: 600, by: 3) {
            #expect(quota.opens(at: .seconds(second)) == .seconds(second))
            quota.admit(at: .seconds(second))
            quota.learn(plenty, at: .seconds(second))
        }
        let none = try #require(ServerAdvice(["RateLimit": #""a";r=0;t=3600"#], status: 200, now: Self.now))
        quota.learn(none, at: .seconds(600))
        #expect(quota.opens(at: .seconds(600)) == .seconds(4_200))
        quota.learn(plenty, at: .seconds(601))
        #expect(quota.opens(at: .seconds(601)) == .seconds(601))
    }

    @Test("a wall clock that jumps neither prolongs nor shortens a server's announcements beyond their bounds")
    func wallClockJumps() throws {
        let end = Int(Self.now.timeIntervalSince1970) + 20
        let date = "Fri, 15 Jan 2027 08:00:20 GMT"
        for (jump, reset, pause) in [
            (-3_600.0, Duration.seconds(3_600), Duration.seconds(3_600) as Duration?), (0, .seconds(20), .seconds(20)),
            // A date in the past is no pause.
            (3_600, .zero, nil),
        ] {
            let fields: HTTPHeaders = [
                "Retry-After": date, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(end)",
            ]
            let advice = try #require(ServerAdvice(fields, status: 429, now: Self.now.addingTimeInterval(jump)))
            #expect(advice.pause == pause && advice.reset == reset)
            var quota = ServerQuota()
            quota.learn(advice, at: .zero)
            #expect(quota.opens(at: .zero) == reset)
        }
    }

    @Test("a pause closes a quota, and only a longer pause replaces it")
    func pause() throws {
        var quota = ServerQuota()
        quota.learn(try #require(ServerAdvice(["Retry-After": "30"], status: 429, now: Self.now)), at: .zero)
        quota.learn(try #require(ServerAdvice(["Retry-After": "5"], status: 503, now: Self.now)), at: .seconds(1))
        #expect(quota.opens(at: .seconds(2)) == .seconds(30))
        #expect(quota.opens(at: .seconds(30)) == .seconds(30))
    }

    @Test("only the first elements of very long rate limit fields are read", .timeLimit(.minutes(1)))
    func longLists() throws {
        let fields = HTTPHeaders([
            HTTPHeader(name: "RateLimit", value: String(repeating: "a;r=1,", count: 20_000) + "b;r=0;t=1"),
            HTTPHeader(name: "RateLimit-Policy", value: String(repeating: "b,", count: 50_000) + "a;w=5"),
        ])
        #expect(ServerAdvice(fields, status: 200, now: Date()) == nil)
    }
}
