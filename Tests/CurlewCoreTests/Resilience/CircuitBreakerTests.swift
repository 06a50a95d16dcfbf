internal import CurlewCore
internal import CurlewTesting
internal import Testing

@Suite("Circuit breakers", .timeLimit(.minutes(4)))
struct CircuitBreakerTests {
    private static let fine = CircuitState.Call(isFailure: false)
    private static let failed = CircuitState.Call(isFailure: true)

    /// Sends one request that ends at once. Returns `false` if the circuit refuses it.
    private func send(
        _ call: CircuitState.Call?, at now: Duration, _ circuit: inout CircuitState
    ) -> Bool {
        guard circuit.check(at: now) == .pass else { return false }
        circuit.end(call, of: circuit.begin(at: now), at: now)
        return true
    }

    // MARK: The window

    @Test("a window of counts holds the last outcomes", arguments: 0..<50 as Range<UInt64>)
    func counts(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let size = Int.random(in: 1...40, using: &random)
        var window = OutcomeWindow(.count(size))
        var all: [CircuitState.Call] = []
        for _ in 0..<300 {
            let call = CircuitState.Call(isFailure: .random(using: &random), isSlow: .random(using: &random))
            window.add(call, at: .zero)
            all.append(call)
            let expected = all.suffix(size)
            let counts = window.counts(at: .zero)
            #expect(counts.calls == expected.count)
            #expect(counts.failures == expected.filter(\.isFailure).count)
            #expect(counts.slow == expected.filter(\.isSlow).count)
        }
    }

    @Test("a window of time holds the outcomes of its last ten tenths", arguments: 0..<50 as Range<UInt64>)
    func times(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var window = OutcomeWindow(.time(.seconds(10)))
        var all: [(tenth: Int, call: CircuitState.Call)] = []
        var now = Duration.zero
        for _ in 0..<300 {
            now += .milliseconds(Int.random(in: 0...2_500, using: &random))
            let tenth = Int(now / .seconds(1))
            let call = CircuitState.Call(isFailure: .random(using: &random), isSlow: .random(using: &random))
            if Bool.random(using: &random) {
                window.add(call, at: now)
                all.append((tenth, call))
            }
            let expected = all.filter { $0.tenth > tenth - 10 }
            let counts = window.counts(at: now)
            #expect(counts.calls == expected.count)
            #expect(counts.failures == expected.filter(\.call.isFailure).count)
            #expect(counts.slow == expected.filter(\.call.isSlow).count)
        }
    }

    @Test("a window of time counts an earlier time as the last one, and is empty an hour later")
    func timeJumps() {
        var window = OutcomeWindow(.time(.seconds(10)))
        let hour = Duration.seconds(3_600)
        for step in 0..<1_000 {
            // Alternating between two tenths adds to the later one.
            window.add(Self.failed, at: hour - .seconds(step % 2))
        }
        #expect(window.counts(at: .zero).calls == 1_000 && window.counts(at: hour + .seconds(9)).calls == 1_000)
        window.add(Self.fine, at: .zero)
        #expect(window.counts(at: hour + .seconds(9)).calls == 1_001)
        #expect(window.counts(at: hour + .seconds(10)).calls == 0)
        window.add(Self.fine, at: hour * 2)
        #expect(window.counts(at: hour * 2).calls == 1 && window.counts(at: hour).calls == 1)
    }

    @Test("jumps of the time open no circuit for longer than openFor, and permit no second probe")
    func circuitJumps() {
        let breaker = CircuitBreaker(window: .time(.seconds(10)), minimumCalls: 2)
        var admission = AdmissionState(AdmissionPolicy(breaker: breaker))
        let keys = AdmissionKeys(circuit: "a")
        let hour = Duration.seconds(3_600)
        func permit(at now: Duration) -> AdmissionState.Permit? {
            let answer = admission.ask(keys, urgency: 3, deadline: nil, at: now).0
            return if case .decided(.admitted(let permit)) = answer { permit } else { nil }
        }
        func fail(at now: Duration) {
            if let permit = permit(at: now) { admission.finish(permit, nil, Self.failed, nil, at: now) }
        }
        fail(at: hour)
        fail(at: .zero)
        #expect(admission.phases(at: .zero)["a"]?.phase == .open(until: hour + .seconds(10)))
        let early = admission.ask(keys, urgency: 3, deadline: nil, at: .zero).0
        #expect(early == .decided(.refused(AdmissionState.Refusal(cause: .open, retryAfter: .seconds(10)))))
        // An hour later there is one probe, also for those that come from before.
        let probe = permit(at: hour * 2)
        #expect(probe != nil && permit(at: hour * 2) == nil && permit(at: .zero) == nil)
        if let probe { admission.finish(probe, nil, Self.failed, nil, at: hour) }
        #expect(admission.phases(at: .zero)["a"]?.phase == .open(until: hour * 2 + .seconds(10)))
    }

    // MARK: The circuit

    @Test("a circuit opens at the failure rate, but not before the minimum number of calls")
    func opens() {
        let breaker = CircuitBreaker(failureRate: 0.5, window: .count(10), minimumCalls: 4)
        var circuit = CircuitState(breaker)
        for call in [Self.failed, Self.failed, Self.failed] { #expect(send(call, at: .zero, &circuit)) }
        #expect(circuit.phase == .closed)
        #expect(send(Self.fine, at: .seconds(1), &circuit))
        #expect(circuit.phase == .open(until: .seconds(11)))
        #expect(circuit.check(at: .seconds(4)) == .refuse(after: .seconds(7)))
    }

    @Test("slow calls open a circuit, and calls without an outcome do not count")
    func slow() {
        let breaker = CircuitBreaker(slowRate: 0.5, slowAfter: .seconds(1), window: .count(10), minimumCalls: 2)
        var circuit = CircuitState(breaker)
        for _ in 0..<10 { #expect(send(nil, at: .zero, &circuit)) }
        #expect(circuit.counts(at: .zero).calls == 0)
        let fast = breaker.call(AttemptOutcome(status: 200, latency: .milliseconds(999)))
        #expect(send(fast, at: .zero, &circuit))
        #expect(send(breaker.call(AttemptOutcome(status: 200, latency: .seconds(1))), at: .zero, &circuit))
        #expect(circuit.phase == .open(until: .seconds(10)))
    }

    @Test("a half-open circuit permits one probe at a time, and closes after enough successes")
    func halfOpen() {
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, probes: 2)
        var circuit = CircuitState(breaker)
        #expect(send(Self.failed, at: .zero, &circuit))
        let late = Duration.seconds(10)
        #expect(circuit.check(at: late) == .pass)
        let probe = circuit.begin(at: late)
        #expect(circuit.check(at: late) == .refuse(after: .zero))
        circuit.end(nil, of: probe, at: late)
        #expect(circuit.check(at: late) == .pass, "a cancelled probe makes room")
        circuit.end(Self.fine, of: circuit.begin(at: late), at: late)
        #expect(circuit.phase == .halfOpen(succeeded: 1, probing: nil))
        #expect(send(Self.fine, at: late, &circuit))
        #expect(circuit.phase == .closed)
    }

    @Test("a failed probe opens the circuit again, and a probe that never ends does not block the next one")
    func probes() {
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1)
        var circuit = CircuitState(breaker)
        #expect(send(Self.failed, at: .zero, &circuit))
        #expect(send(Self.failed, at: .seconds(10), &circuit))
        #expect(circuit.phase == .open(until: .seconds(20)))
        #expect(circuit.check(at: .seconds(20)) == .pass)
        let endless = circuit.begin(at: .seconds(20))
        #expect(circuit.check(at: .seconds(29)) == .refuse(after: .zero))
        #expect(send(Self.fine, at: .seconds(30), &circuit))
        #expect(circuit.phase == .closed)
        circuit.end(Self.failed, of: endless, at: .seconds(31))
        #expect(circuit.phase == .closed, "the outcome of an earlier generation says nothing")
    }

    @Test("a circuit closes although its probes take longer than it stays open")
    func slowProbes() {
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1)
        var circuit = CircuitState(breaker)
        #expect(send(Self.failed, at: .zero, &circuit))
        #expect(circuit.check(at: .seconds(10)) == .pass)
        let slow = circuit.begin(at: .seconds(10))
        #expect(circuit.check(at: .seconds(20)) == .pass)
        _ = circuit.begin(at: .seconds(20))
        circuit.end(Self.fine, of: slow, at: .seconds(25))
        #expect(circuit.phase == .closed)
    }

    @Test(
        "an overdue probe that ends, cancelled or fine, permits no probe beside its successor", arguments: [nil, fine])
    func overdueProbe(outcome: CircuitState.Call?) {
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, probes: 3)
        var circuit = CircuitState(breaker)
        #expect(send(Self.failed, at: .zero, &circuit))
        #expect(circuit.check(at: .seconds(10)) == .pass)
        let overdue = circuit.begin(at: .seconds(10))
        #expect(circuit.check(at: .seconds(20)) == .pass)
        let successor = circuit.begin(at: .seconds(20))
        circuit.end(outcome, of: overdue, at: .seconds(21))
        #expect(circuit.check(at: .seconds(21)) == .refuse(after: .zero), "the successor is in flight")
        circuit.end(Self.fine, of: successor, at: .seconds(22))
        #expect(send(Self.fine, at: .seconds(22), &circuit))
        // Of three successes, the overdue probe's is one.
        #expect((circuit.phase == .closed) == (outcome != nil))
    }

    @Test(
        "at most one probe at a time is sent per period, with probes that end in any order",
        arguments: 0..<200 as Range<UInt64>)
    func overlappingProbes(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, probes: 1_000)
        var circuit = CircuitState(breaker)
        #expect(send(Self.failed, at: .zero, &circuit))
        var now = Duration.seconds(10)
        var flying: [(number: Int, start: Duration)] = []
        for _ in 0..<500 {
            now += .seconds(Int.random(in: 0...8, using: &random))
            if circuit.check(at: now) == .pass {
                #expect(flying.allSatisfy { now - $0.start >= .seconds(10) })
                flying.append((circuit.begin(at: now), now))
            } else {
                #expect(flying.contains { now - $0.start < .seconds(10) })
            }
            if let index = flying.indices.randomElement(using: &random), Bool.random(using: &random) {
                let outcome = Bool.random(using: &random) ? Self.fine : nil
                circuit.end(outcome, of: flying.remove(at: index).number, at: now)
            }
        }
    }

    @Test("a window that is smaller than the minimum of calls opens the circuit once it is full")
    func smallWindow() {
        let breaker = CircuitBreaker(window: .count(3))
        var circuit = CircuitState(breaker)
        for second in 0..<3 { #expect(send(Self.failed, at: .seconds(second), &circuit)) }
        #expect(circuit.phase == .open(until: .seconds(12)))
    }

    /// A simple model of a circuit, which remembers every outcome.
    private struct Model {
        let breaker: CircuitBreaker
        var state = "closed"
        var outcomes: [Bool] = []
        var until = Duration.zero
        var epoch = 0

        mutating func passes(at now: Duration) -> Bool {
            if state == "open", now >= until {
                (state, epoch) = ("waiting", epoch + 1)
            }
            return state == "closed" || state == "waiting"
        }

        mutating func begin() -> Int {
            if state == "waiting" { state = "probing" }
            return epoch
        }

        mutating func end(_ isFailure: Bool, _ begun: Int, at now: Duration) {
            guard begun == epoch else { return }
            if state == "probing" {
                (state, outcomes, until, epoch) = (isFailure ? "open" : "closed", [], now + breaker.openFor, epoch + 1)
            } else if state == "closed" {
                outcomes.append(isFailure)
                let last = outcomes.suffix(8)
                guard last.count >= 4, last.count(where: \.self) * 2 >= last.count else { return }
                (state, outcomes, until, epoch) = ("open", [], now + breaker.openFor, epoch + 1)
            }
        }
    }

    @Test(
        "a circuit permits the same requests as a simple model, with several in flight",
        arguments: 0..<200 as Range<UInt64>)
    func model(seed: UInt64) {
        var random = SplitMix(seed: seed)
        // `openFor` is so long that probes end before the circuit would permit the next one.
        let breaker = CircuitBreaker(window: .count(8), minimumCalls: 4, openFor: .seconds(1_000))
        var circuit = CircuitState(breaker)
        var model = Model(breaker: breaker)
        var flying: [(Int, Int)] = []
        var now = Duration.zero
        for _ in 0..<600 {
            now += .seconds(Int.random(in: 0...60, using: &random))
            if Bool.random(using: &random) || flying.isEmpty {
                let passes = circuit.check(at: now) == .pass
                #expect(passes == model.passes(at: now))
                if passes { flying.append((circuit.begin(at: now), model.begin())) }
            }
            if flying.count > 5 || (!flying.isEmpty && Bool.random(using: &random)) {
                let (begun, epoch) = flying.remove(at: Int.random(in: 0..<flying.count, using: &random))
                let isFailure = Int.random(in: 0..<3, using: &random) == 0
                circuit.end(isFailure ? Self.failed : Self.fine, of: begun, at: now)
                model.end(isFailure, epoch, at: now)
            }
        }
    }

    @Test(
        "only server errors other than 501 and failures of the transport count as failures",
        arguments: [
            (AttemptOutcome(status: 200), false), (AttemptOutcome(status: 404), false),
            (AttemptOutcome(status: 429), false), (AttemptOutcome(status: 500), true),
            (AttemptOutcome(status: 501), false), (AttemptOutcome(status: 503), true),
            (AttemptOutcome(error: CurlewError(.connectFailed, phase: .connect)), true),
            (AttemptOutcome(error: CurlewError(.firstByteTimedOut, phase: .waiting)), true),
            (AttemptOutcome(status: 200, error: CurlewError(.truncated, phase: .receive)), true),
            (AttemptOutcome(status: 200, error: CurlewError(.decodingFailed, phase: .decoding)), false),
        ])
    func failures(outcome: AttemptOutcome, isFailure: Bool) {
        #expect(outcome.isServerFailure == isFailure)
        #expect(CircuitBreaker().call(outcome).isFailure == isFailure)
        #expect(!CircuitBreaker(isFailure: { _ in false }).call(outcome).isFailure)
    }
}
