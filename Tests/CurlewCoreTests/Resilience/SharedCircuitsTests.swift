internal import CurlewCore
internal import CurlewTesting
internal import Testing

@Suite("Shared circuits", .timeLimit(.minutes(4)))
struct SharedCircuitsTests {
    private struct Fleet: CircuitSharing {
        let circuitRefresh = Duration.seconds(1)
        func ask(_ question: [CircuitQuestion]) async -> [Duration]? { nil }
    }

    /// The server through which the processes share their circuits, with the same clock as they have.
    private struct Server {
        var isAway = false
        var questions = 0
        /// The times that were published.
        var published: [Duration] = []
        var openUntil: [String: Duration] = [:]

        mutating func answer(_ question: [CircuitQuestion], at now: Duration) -> [Duration]? {
            questions += 1
            if isAway { return nil }
            return question.map { asked in
                if asked.remaining > .zero {
                    published.append(asked.remaining)
                    openUntil[asked.name] = max(openUntil[asked.name] ?? .zero, now + asked.remaining)
                }
                return max((openUntil[asked.name] ?? .zero) - now, .zero)
            }
        }
    }

    private struct Process {
        static let keys = AdmissionKeys(circuit: "a")
        var admission = AdmissionState(
            AdmissionPolicy(
                breaker: CircuitBreaker(window: .count(20), minimumCalls: 10, openFor: .seconds(10))
                    .shared(byFleet: Fleet())))

        func phase(at now: Duration) -> CircuitState.Phase? { admission.phases(at: now)["a"]?.phase }

        mutating func ask(at now: Duration) -> AdmissionState.Permit? {
            let (answer, _) = admission.ask(Self.keys, urgency: 3, deadline: nil, at: now)
            guard case .decided(.admitted(let permit)) = answer else { return nil }
            return permit
        }

        /// Begins a request that the circuit must admit.
        mutating func begin(at now: Duration) throws -> AdmissionState.Permit {
            let permit = ask(at: now)
            return try #require(permit)
        }

        mutating func finish(
            _ permit: AdmissionState.Permit, isFailure: Bool, isSlow: Bool = false, at now: Duration
        ) {
            admission.finish(permit, nil, CircuitState.Call(isFailure: isFailure, isSlow: isSlow), nil, at: now)
        }

        mutating func question(at now: Duration) -> [CircuitQuestion] {
            for case .circuits(let question, _) in admission.fleetOrders(at: now) { return question }
            return []
        }

        mutating func talk(to server: inout Server, at now: Duration) {
            let question = question(at: now)
            if question.isEmpty { return }
            admission.answered(server.answer(question, at: now), to: question, at: now)
        }

        /// Sends one request that ends at once, and carries out the questions that follow. Returns `false` if the
        /// circuit refuses it.
        mutating func send(isFailure: Bool = false, at now: Duration, _ server: inout Server) -> Bool {
            let permit = ask(at: now)
            talk(to: &server, at: now)
            guard let permit else { return false }
            finish(permit, isFailure: isFailure, at: now)
            talk(to: &server, at: now)
            return true
        }

        /// Sends requests that fail until the circuit is open. Returns their number.
        mutating func fail(at now: Duration, _ server: inout Server) -> Int {
            var count = 0
            while count < 30, send(isFailure: true, at: now, &server) { count += 1 }
            #expect(phase(at: now) == .open(until: now + .seconds(10)))
            return count
        }
    }

    // MARK: The effect of another process's open circuit

    @Test("while another process's circuit is open, the first failure opens the circuit of a new process")
    func first() throws {
        var server = Server()
        var (one, new) = (Process(), Process())
        #expect(one.fail(at: .zero, &server) == 10)
        let request = try new.begin(at: .seconds(1))
        new.talk(to: &server, at: .seconds(1))
        #expect(new.phase(at: .seconds(1)) == .closed)
        new.finish(request, isFailure: true, at: .seconds(2))
        #expect(new.phase(at: .seconds(2)) == .open(until: .seconds(12)), "for its own duration")
        #expect(!new.send(at: .milliseconds(11_999), &server))
        #expect(new.send(at: .seconds(12), &server), "a probe of its own")
        #expect(new.phase(at: .seconds(12)) == .closed)
    }

    @Test("while another process's circuit is open, a slow response opens the circuit as a failure does")
    func slow() throws {
        var server = Server(openUntil: ["a": .seconds(10)])
        var process = Process()
        let request = try process.begin(at: .zero)
        process.talk(to: &server, at: .zero)
        process.finish(request, isFailure: false, isSlow: true, at: .seconds(1))
        #expect(process.phase(at: .seconds(1)) == .open(until: .seconds(11)))
    }

    @Test(
        "while another process's circuit is open, the usual share of failures opens it, after any number of calls")
    func share() {
        for successes in [3, 9, 15] {
            var server = Server(openUntil: ["a": .seconds(10)])
            var process = Process()
            for _ in 0..<successes { #expect(process.send(at: .zero, &server)) }
            // Of 20 calls, 10 are half.
            let failures = min(successes, 10)
            for _ in 1..<failures { #expect(process.send(isFailure: true, at: .seconds(1), &server)) }
            #expect(process.phase(at: .seconds(1)) == .closed)
            #expect(process.send(isFailure: true, at: .seconds(1), &server))
            #expect(process.phase(at: .seconds(1)) == .open(until: .seconds(11)))
            #expect(server.published == (successes == 3 ? [] : [.seconds(10)]), "published only with enough calls")
        }
    }

    @Test("while another process's circuit is open, a success does not open the circuit, even after old failures")
    func old() {
        var server = Server()
        var process = Process()
        for _ in 0..<5 { #expect(process.send(isFailure: true, at: .zero, &server)) }
        server.openUntil["a"] = .seconds(110)
        for second in 100..<104 { #expect(process.send(at: .seconds(second), &server)) }
        #expect(process.phase(at: .seconds(104)) == .closed)
    }

    @Test("once the other process's circuit has closed, the minimum of calls applies again")
    func over() {
        var server = Server(openUntil: ["a": .seconds(5)])
        var process = Process()
        #expect(process.send(at: .seconds(1), &server))
        var before = process
        #expect(before.fail(at: .milliseconds(4_999), &server) == 1)
        #expect(process.fail(at: .seconds(5), &server) == 9)
    }

    @Test("another process's circuit suspends the minimum of calls for at most openFor, even if it stays open longer")
    func bounded() {
        var server = Server(openUntil: ["a": .seconds(1_000_000)])
        var process = Process()
        #expect(process.send(at: .seconds(5), &server))
        server.isAway = true
        var before = process
        #expect(before.fail(at: .milliseconds(14_999), &server) == 1)
        #expect(process.fail(at: .seconds(15), &server) == 9)
    }

    @Test("an answer without remaining time changes nothing", arguments: [Duration.zero, .seconds(-5)])
    func none(answer: Duration) throws {
        var server = Server()
        var process = Process()
        let request = try process.begin(at: .zero)
        process.admission.answered([answer], to: process.question(at: .zero), at: .zero)
        process.finish(request, isFailure: true, at: .zero)
        #expect(process.fail(at: .zero, &server) == 9)
    }

    @Test("an answer that arrives during a probe has no effect: the probe decides")
    func probing() throws {
        var server = Server()
        var process = Process()
        _ = process.fail(at: .zero, &server)
        let probe = try process.begin(at: .seconds(10))
        let question = process.question(at: .seconds(10))
        #expect(question == [CircuitQuestion(name: "a")])
        process.admission.answered([.seconds(10)], to: question, at: .seconds(10))
        process.finish(probe, isFailure: false, at: .milliseconds(10_100))
        #expect(process.phase(at: .milliseconds(10_100)) == .closed)
        let next = try process.begin(at: .milliseconds(10_200))
        process.finish(next, isFailure: true, at: .milliseconds(10_300))
        #expect(process.phase(at: .milliseconds(10_300)) == .closed)
    }

    // MARK: Publishing

    @Test("a failed probe is not published, and neither is an opening after fewer calls than the minimum")
    func unpublished() throws {
        var server = Server()
        var (sick, other) = (Process(), Process())
        _ = sick.fail(at: .zero, &server)
        #expect(server.published == [.seconds(10)])
        #expect(other.fail(at: .seconds(5), &server) == 1)
        for second in [10, 20, 30] {
            #expect(sick.send(isFailure: true, at: .seconds(second), &server))
            #expect(sick.phase(at: .seconds(second)) == .open(until: .seconds(second + 10)))
        }
        #expect(other.send(isFailure: true, at: .seconds(15), &server))
        #expect(other.phase(at: .seconds(15)) == .open(until: .seconds(25)))
        #expect(server.published.count == 1 && server.openUntil["a"] == .seconds(10))
        // So a process that starts later has its own circuit, although the other one is still sick.
        var new = Process()
        #expect(new.fail(at: .seconds(31), &server) == 10)
    }

    @Test("a process asks at most once in each interval, and publishes an opening at once")
    func refresh() {
        var server = Server()
        var process = Process()
        for step in 0..<100 { #expect(process.send(at: .milliseconds(step * 10), &server)) }
        #expect(server.questions == 1)
        #expect(process.send(at: .seconds(1), &server))
        #expect(server.questions == 2)
        #expect(process.fail(at: .milliseconds(1_100), &server) == 10)
        #expect(server.questions == 3)
        #expect(server.openUntil["a"] == .milliseconds(11_100))
        for step in 0..<50 { #expect(!process.send(at: .milliseconds(1_200 + step * 100), &server)) }
        #expect(server.questions == 3, "requests that are refused ask nothing")
    }

    @Test("if the server is away, each process uses its own circuit, and publishes an opening when the server is back")
    func away() {
        var server = Server(isAway: true)
        var (one, other) = (Process(), Process())
        _ = one.fail(at: .zero, &server)
        for step in 0..<40 {
            #expect(!one.send(at: .milliseconds(step * 100), &server))
            #expect(other.send(isFailure: step.isMultiple(of: 10), at: .milliseconds(step * 100), &server))
        }
        #expect(server.questions <= 2 * 5, "at most one in a second, and the first one")
        server.isAway = false
        #expect(!one.send(at: .seconds(5), &server))
        #expect(server.published == [.seconds(5)] && server.openUntil["a"] == .seconds(10))
        var new = Process()
        #expect(new.fail(at: .seconds(6), &server) == 1)
    }

    @Test("an opening that has ended before the server is back is not published")
    func late() {
        var server = Server(isAway: true)
        var process = Process()
        _ = process.fail(at: .zero, &server)
        server.isAway = false
        #expect(process.send(at: .seconds(10), &server))
        #expect(server.questions == 2 && server.published.isEmpty && process.phase(at: .seconds(10)) == .closed)
    }

    @Test("an answer that arrives after the process's circuit has opened changes nothing, and the opening is published")
    func crossing() throws {
        var process = Process()
        let first = try process.begin(at: .zero)
        let question = process.question(at: .zero)
        #expect(question == [CircuitQuestion(name: "a")])
        process.finish(first, isFailure: true, at: .zero)
        for _ in 0..<9 {
            let next = try process.begin(at: .zero)
            process.finish(next, isFailure: true, at: .zero)
        }
        #expect(process.question(at: .zero).isEmpty, "one question at a time")
        process.admission.answered([.seconds(3)], to: question, at: .seconds(1))
        #expect(process.phase(at: .seconds(1)) == .open(until: .seconds(10)))
        #expect(process.question(at: .seconds(1)) == [CircuitQuestion(name: "a", remaining: .seconds(9))])
    }

    @Test("an answer about the wrong number of circuits is ignored")
    func wrong() throws {
        var process = Process()
        _ = try process.begin(at: .zero)
        let question = process.question(at: .zero)
        process.admission.answered([], to: question, at: .zero)
        #expect(process.phase(at: .zero) == .closed)
        _ = try process.begin(at: .milliseconds(999))
        #expect(process.question(at: .milliseconds(999)).isEmpty)
        #expect(process.question(at: .seconds(1)) == [CircuitQuestion(name: "a")])
    }

    @Test("a question names at most 128 circuits, and the next question names the rest")
    func many() {
        var admission = Process().admission
        for number in 0..<300 {
            _ = admission.ask(AdmissionKeys(circuit: "\(number)"), urgency: 3, deadline: nil, at: .zero)
        }
        var sizes: [Int] = []
        while case .circuits(let question, _)? = admission.fleetOrders(at: .zero).first {
            sizes.append(question.count)
            admission.answered(question.map { _ in .zero }, to: question, at: .zero)
        }
        #expect(sizes == [128, 128, 44])
    }

    // MARK: Fleets

    @Test(
        "a process without failures is never refused, however often another process's circuit opens",
        arguments: 0..<20 as Range<UInt64>)
    func healthy(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var server = Server()
        var sick = Process()
        var others = (0..<3).map { _ in Process() }
        for step in 0..<4_000 {
            let now = Duration.milliseconds(step * 100)
            _ = sick.send(isFailure: Bool.random(using: &random), at: now, &server)
            for index in others.indices where Bool.random(using: &random) {
                #expect(others[index].send(at: now, &server))
            }
            // Now and then a new one starts.
            if step.isMultiple(of: 100) { others[step / 100 % 3] = Process() }
        }
        #expect(server.published.count > 10)
    }

    @Test("all circuits close again after any failures of processes and server", arguments: 0..<50 as Range<UInt64>)
    func recovers(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var server = Server()
        var processes = (0..<4).map { _ in Process() }
        var (now, openings) = (Duration.zero, 0)
        for _ in 0..<400 {
            now += .milliseconds(Int.random(in: 0...500, using: &random))
            if Int.random(in: 0..<20, using: &random) == 0 { server.isAway.toggle() }
            let index = Int.random(in: 0..<4, using: &random)
            let before = processes[index].phase(at: now)
            _ = processes[index].send(isFailure: Int.random(in: 0..<3, using: &random) > 0, at: now, &server)
            if before != processes[index].phase(at: now) { openings += 1 }
        }
        let seconds = Int(now / .seconds(1)) + 1
        #expect(openings > 0 && server.questions <= 4 * (seconds + 1) + openings)
        server.isAway = false
        for second in seconds..<seconds + 60 {
            for index in processes.indices {
                let isSent = processes[index].send(at: .seconds(second), &server)
                if second >= seconds + 30 { #expect(isSent) }
            }
        }
        for process in processes { #expect(process.phase(at: .seconds(seconds + 60)) == .closed) }
    }
}
