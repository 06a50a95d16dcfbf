internal import CurlewCore
internal import CurlewTesting
internal import Foundation
internal import Testing

@Suite("Hedging", .timeLimit(.minutes(4)))
struct HedgingTests {
    private static let url = URL(string: "https://api.example.org/")

    private func request(
        _ method: HTTPMethod, headers: HTTPHeaders = [:], body: BodySource = .none
    ) throws -> TransferRequest {
        TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: try #require(Self.url), method: method, headers: headers,
            body: body)
    }

    // MARK: Requests that may be hedged

    @Test("only safe requests, requests with an idempotency key and chosen methods are hedged")
    func methods() throws {
        var hedging = Hedging.after(.zero)
        for method in [HTTPMethod.get, .head, .options, .query, .trace] {
            #expect(hedging.mayHedge(try request(method)))
        }
        for method in [HTTPMethod.post, .patch, .put, .delete] {
            #expect(!hedging.mayHedge(try request(method)))
            #expect(hedging.mayHedge(try request(method, headers: ["idempotency-key": "a"])))
        }
        hedging.methods = [.put, .post]
        let (put, get) = (try request(.put), try request(.get))
        #expect(hedging.mayHedge(put) && !hedging.mayHedge(get))
        #expect(!hedging.mayHedge(try request(.post)))
    }

    @Test("of requests with a body, only those with a small one in memory are hedged")
    func bodies() throws {
        let hedging = Hedging.after(.zero)
        let url = try #require(URL(string: "file:///tmp/x"))
        let small = Data(count: Hedging.largestBody)
        #expect(hedging.mayHedge(try request(.query, body: .data(small))))
        #expect(!hedging.mayHedge(try request(.query, body: .data(small + [0]))))
        #expect(!hedging.mayHedge(try request(.query, body: .file(url))))
    }

    @Test("429 and server errors other than 501 are not good responses")
    func heads() {
        for status in [200, 204, 206, 302, 304, 401, 404, 412, 501] {
            #expect(Hedging.isGood(ResponseHead(status: status)))
        }
        for status in [429, 500, 502, 503, 504, 599] { #expect(!Hedging.isGood(ResponseHead(status: status))) }
    }

    // MARK: The share

    @Test("second copies never exceed their share of the requests", arguments: 0..<100 as Range<UInt64>)
    func share(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var hedging = Hedging.after(.milliseconds(1))
        hedging.maximumShare = Double.random(in: 0...1, using: &random)
        var state = HedgeState()
        var (requests, hedges) = (0, 0)
        for _ in 0..<500 {
            requests += 1
            let delay = state.requestStarts(hedging)
            #expect(delay == .milliseconds(1))
            while Bool.random(using: &random), state.take() {
                if Int.random(in: 0..<4, using: &random) == 0 { state.giveBack() } else { hedges += 1 }
                #expect(Double(hedges) <= Double(requests) * hedging.maximumShare)
            }
        }
    }

    @Test("the share is used in full, and at most ten second copies accumulate")
    func fullShare() {
        let hedging = Hedging.after(.zero)
        var state = HedgeState()
        let taken = (1...1_000).count { _ in
            _ = state.requestStarts(hedging)
            return state.take()
        }
        #expect(taken == 100)
        for _ in 0..<1_000 { _ = state.requestStarts(hedging) }
        let accumulated = (0..<1_000).count { _ in state.take() }
        #expect(accumulated == 10)
    }

    @Test("a maximum share outside 0 to 1 is limited to this range", arguments: [(-1.0, 0), (.nan, 0), (7, 1)])
    func oddShares(share: Double, copies: Int) {
        var hedging = Hedging.after(.zero)
        hedging.maximumShare = share
        var state = HedgeState()
        _ = state.requestStarts(hedging)
        let taken = (0..<5).count { _ in state.take() }
        #expect(taken == copies)
    }

    // MARK: The percentile

    @Test("a percentile is computed over the last 128 latencies", arguments: 0..<50 as Range<UInt64>)
    func percentile(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var sample = LatencySample()
        var all: [Duration] = []
        for _ in 0..<400 {
            let latency = Duration.milliseconds(Int.random(in: 0...30, using: &random))
            sample.add(latency)
            all.append(latency)
            let last = all.suffix(LatencySample.size).sorted()
            #expect(sample.count == last.count)
            let share = Double.random(in: 0...1, using: &random)
            let found = sample.percentile(share)
            // At least this share of the latencies is not longer, and it is the shortest latency for which that holds.
            #expect(Double(last.count { $0 <= found }) >= share * Double(last.count))
            #expect(found == last[0] || Double(last.count { $0 < found }) < share * Double(last.count))
        }
    }

    @Test("no request is hedged without enough latencies, or before the minimum delay")
    func fewLatencies() {
        let hedging = Hedging.percentile(0.5, atLeast: .milliseconds(20))
        var state = HedgeState()
        for _ in 0..<Hedging.fewestSamples {
            let delay = state.requestStarts(hedging)
            #expect(delay == nil)
            state.responseBegan(after: .milliseconds(5))
        }
        let floor = state.requestStarts(hedging)
        #expect(floor == .milliseconds(20))
        for _ in 0..<LatencySample.size { state.responseBegan(after: .milliseconds(50)) }
        let median = state.requestStarts(hedging)
        #expect(median == .milliseconds(50))
    }

    @Test("second copies that win do not lower the percentile")
    func stablePercentile() {
        let hedging = Hedging.percentile(0.9, atLeast: .zero)
        var state = HedgeState()
        // One response in twenty takes a second, the others 10 ms. A second copy always takes 10 ms.
        var delays: [Duration] = []
        for number in 0..<2_000 {
            let first = number % 20 == 0 ? Duration.seconds(1) : .milliseconds(10 + number % 3)
            let delay = state.requestStarts(hedging)
            if let delay {
                delays.append(delay)
                state.responseBegan(after: min(first, delay + .milliseconds(10)))
            } else {
                state.responseBegan(after: first)
            }
        }
        #expect(delays.allSatisfy { $0 == .milliseconds(12) })
    }
}

@Suite("Hedge races", .timeLimit(.minutes(4)))
struct HedgeRaceTests {
    private typealias Copy = HedgeRace.Copy

    private enum Event { case good, bad, failure }

    @Test("the best response wins exactly once, in random orders of events", arguments: 0..<2_000 as Range<UInt64>)
    func orders(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let lives: [[Event]] = [[.good], [.good, .failure], [.bad], [.bad, .failure], [.failure]]
        var race = HedgeRace()
        var rest: [Copy: [Event]] = [.first: lives.randomElement(using: &random) ?? []]
        let hedgesAt = Int.random(in: 0...2, using: &random)
        var (delivered, cancelled, held): (Copy?, Copy?, [Copy: Bool]) = (nil, nil, [:])
        var (hadGood, failed): (Copy?, Set<Copy>) = (nil, [])
        func carryOut(_ commands: HedgeRace.Commands) {
            if let copy = commands.cancel {
                #expect(cancelled == nil && copy != race.winner)
                cancelled = copy
            }
            if let copy = commands.resume {
                #expect(delivered == nil && held[copy] == true && copy == race.winner)
                delivered = copy
            }
        }
        for step in 0..<6 {
            if step == hedgesAt, race.hedge() { rest[.second] = lives.randomElement(using: &random) ?? [] }
            let ready = [Copy.first, .second].filter { rest[$0]?.isEmpty == false }
            guard let copy = ready.randomElement(using: &random), let event = rest[copy]?.removeFirst()
            else { continue }
            if event == .failure {
                failed.insert(copy)
                carryOut(race.failed(copy))
                continue
            }
            if event == .good, hadGood == nil, delivered == nil { hadGood = copy }
            let (verdict, commands) = race.headArrived(of: copy, isGood: event == .good)
            switch verdict {
            case .deliver:
                #expect(delivered == nil && race.winner == copy)
                delivered = copy
            case .hold:
                held[copy] = true
                #expect(event == .bad && race.winner == nil)
            case .drop: #expect(race.winner == copy.other)
            }
            carryOut(commands)
        }
        // All events have arrived, so the race is decided unless every copy has failed.
        #expect(delivered == race.winner)
        if let hadGood { #expect(delivered == hadGood) }
        if delivered == nil { #expect(failed == (race.isHedged ? [.first, .second] : [.first])) }
        if race.isHedged, delivered == .second, hadGood == nil { #expect(failed.contains(.first)) }
        #expect(cancelled != race.winner || cancelled == nil)
    }

    /// Returns a race in which the second copy has begun.
    private func hedged() -> HedgeRace {
        var race = HedgeRace()
        let isBegun = race.hedge()
        #expect(isBegun && race.isHedged)
        return race
    }

    private func expect(
        _ step: (HedgeRace.Verdict, HedgeRace.Commands), _ verdict: HedgeRace.Verdict,
        cancel: Copy? = nil, resume: Copy? = nil
    ) {
        #expect(step.0 == verdict)
        #expect(step.1 == HedgeRace.Commands(cancel: cancel, resume: resume))
    }

    @Test("no second copy is sent once the first one has a head or has failed")
    func noHedge() {
        for isGood in [true, false] {
            var race = HedgeRace()
            expect(race.headArrived(of: .first, isGood: isGood), .deliver)
            let isBegun = race.hedge()
            #expect(!isBegun && race.winner == .first && !race.isHedged)
        }
        var race = HedgeRace()
        let commands = race.failed(.first)
        let isBegun = race.hedge()
        #expect(commands == HedgeRace.Commands() && !isBegun && race.winner == nil)
        race = hedged()
        let isBegunAgain = race.hedge()
        #expect(!isBegunAgain)
    }

    @Test("of two bad responses, that of the first copy is delivered", arguments: [true, false])
    func bothBad(secondIsFaster: Bool) {
        var race = hedged()
        if secondIsFaster {
            expect(race.headArrived(of: .second, isGood: false), .hold)
            expect(race.headArrived(of: .first, isGood: false), .deliver, cancel: .second)
        } else {
            expect(race.headArrived(of: .first, isGood: false), .hold)
            expect(race.headArrived(of: .second, isGood: false), .drop, cancel: .second, resume: .first)
        }
        #expect(race.winner == .first)
    }

    @Test("a held response of the first copy is delivered if the second copy fails")
    func refused() {
        var race = hedged()
        expect(race.headArrived(of: .first, isGood: false), .hold)
        let commands = race.failed(.second)
        #expect(commands == HedgeRace.Commands(resume: .first) && race.winner == .first)
    }
}
