internal import CurlewCore
internal import Foundation

/// Clients that call a server or several, in virtual time.
///
///     arrival ─▶ ask ─┬─▶ send ─▶ Upstream ─▶ served ─┬─▶ the call has succeeded
///        ▲            │     └─ hedge ─▶ second copy   └─▶ in vain: the client has given up, or uses the other copy
///        │            ├─▶ wait ─▶ verdict, or time
///        │            └─▶ refused: the call has failed
///        └ a pause ◀── retry? ◀── refused by the server, or timed out
///
/// Calls arrive at random times and at random clients, independently of the results of earlier calls. All decisions
/// are those of `AdmissionState`, `EndpointState`, `HedgeState`, `HedgeRace`, `RetryTokenBucket` and `Backoff`; this type
/// only delivers the messages.
package struct Simulation {
    private enum Event {
        case arrival
        case burst(Int)
        case queueTimeout(call: Int, attempt: Int)
        case tick(client: Int)
        case served(Upstream.Job)
        case refusal(Upstream.Job, ResponseHead)
        case timeout(Upstream.Job, isConnected: Bool)
        case hedge(Upstream.Job)
        case retry(call: Int)
    }

    private struct Call {
        enum Stage {
            case between
            case waiting(AdmissionState.Ticket)
            case sent(Exchange)
        }

        let client: Int
        let priority: RequestPriority
        let arrived: Duration
        var attempt = 0
        var stage = Stage.between
        /// The server of the current attempt, and its choice until the attempt has ended.
        var replica = 0
        var choice: EndpointState.Choice?
        /// The servers that have failed earlier attempts.
        var failed: Set<Int> = []
    }

    private let scenario: Scenario
    private var now = Duration.zero
    private var events = EventQueue<Event>()
    private var random: Random
    private var upstreams: [Upstream]
    private var clients: [Client]
    /// The calls that have not ended, by number.
    private var calls: [Int: Call] = [:]
    private var report: Report

    /// The time until a refusal of the server arrives.
    private static let roundTrip = Duration.milliseconds(1)
    private static let timeout = CurlewError(.firstByteTimedOut, phase: .waiting)
    private static let connectTimeout = CurlewError(.connectTimedOut, phase: .connect)

    private init(_ scenario: Scenario, _ stack: Stack, seed: UInt64) {
        self.scenario = scenario
        random = Random(seed: seed)
        upstreams = (0..<scenario.replicas).map { replica in
            var settings = scenario.upstream
            if replica > 0 { settings.phases = [] }
            return Upstream(settings)
        }
        clients = (0..<scenario.clients).map { _ in Client(stack, replicas: scenario.replicas) }
        report = Report(scenario: scenario, stack: stack.name)
    }

    package static func run(_ scenario: Scenario, _ stack: Stack, seed: UInt64 = 1) -> Report {
        var simulation = Simulation(scenario, stack, seed: seed)
        simulation.run()
        return simulation.report
    }

    private mutating func run() {
        events.add(.arrival, at: .zero)
        if let (time, count) = scenario.burst { events.add(.burst(count), at: time) }
        while let (time, event) = events.next() {
            now = time
            report.events += 1
            carryOut(event)
        }
    }

    private mutating func carryOut(_ event: Event) {
        switch event {
        case .arrival:
            // After the end no calls arrive, and earlier calls continue.
            guard now < scenario.length else { return }
            arrive()
            events.add(.arrival, at: now + random.exponential(.seconds(1) / scenario.callsPerSecond))
        case .burst(let count):
            for _ in 0..<count { arrive() }
        case .queueTimeout(let number, let attempt):
            guard let call = calls[number], call.attempt == attempt, case .waiting(let ticket) = call.stage
            else { return }
            carryOut(clients[call.client].leave(ticket, at: now), of: call.client)
            giveBackServer(of: number, nil)
            // A `RetryPolicy` retries after `.queueTimedOut`.
            retryOrFail(number, after: nil)
        case .tick(let client):
            carryOut(clients[client].tickCame(at: now), of: client)
        case .served(let job):
            upstreams[job.replica].end()
            beginJobs(of: job.replica)
            guard isWanted(job) else { return report.served(at: now, after: nil) }
            report.served(at: now, after: age(of: job))
            end(job, .response(ResponseHead(status: 200)))
        case .refusal(let job, let head):
            if isWanted(job) { end(job, .response(head)) }
        case .timeout(let job, let isConnected):
            if isWanted(job) { end(job, .failure(isConnected ? Self.timeout : Self.connectTimeout)) }
        case .hedge(let job):
            if isWanted(job) { hedge(job) }
        case .retry(let number):
            ask(number)
        }
    }

    // MARK: Calls

    private mutating func arrive() {
        report.arrived += 1
        let number = report.arrived
        let client = Int.random(in: 0..<clients.count, using: &random)
        let priority = scenario.priorities.randomElement(using: &random) ?? .normal
        calls[number] = Call(client: client, priority: priority, arrived: now)
        clients[client].deposit(at: now)
        ask(number)
    }

    /// Asks for the next attempt of a call.
    private mutating func ask(_ number: Int) {
        guard var call = calls[number] else { return }
        call.attempt += 1
        (call.replica, call.choice) = clients[call.client].choose(avoiding: call.failed, at: now, using: &random)
        calls[number] = call
        let deadline = now + scenario.queueTimeout
        let (answer, news) = clients[call.client].ask(for: number, call.priority, waitingUntil: deadline, at: now)
        switch answer {
        case .decided(let verdict): carryOut(verdict, on: number)
        case .waits(let ticket):
            calls[number]?.stage = .waiting(ticket)
            events.add(.queueTimeout(call: number, attempt: call.attempt), at: deadline)
        }
        carryOut(news, of: call.client)
    }

    private mutating func carryOut(_ news: Client.News, of client: Int) {
        for (call, verdict) in news { carryOut(verdict, on: call) }
        if let tick = clients[client].nextTick(at: now) { events.add(.tick(client: client), at: tick) }
    }

    private mutating func carryOut(_ verdict: AdmissionState.Verdict, on number: Int) {
        switch verdict {
        case .admitted(let permit): send(number, permit)
        // A `RetryPolicy` does not retry requests that limits or circuits have refused.
        case .refused:
            giveBackServer(of: number, nil)
            conclude(number, isSuccess: false)
        }
    }

    private mutating func send(_ number: Int, _ permit: AdmissionState.Permit) {
        guard let call = calls[number] else { return }
        calls[number]?.stage = .sent(Exchange(permit))
        let job = Upstream.Job(call: number, attempt: call.attempt, copy: .first, replica: call.replica)
        if let delay = clients[call.client].hedgeDelay() { events.add(.hedge(job), at: now + delay) }
        send(job)
    }

    /// Sends the second copy of a job, if the race, the share and the limits permit it. It meets the same server, if
    /// there is a rule that has chosen it.
    private mutating func hedge(_ job: Upstream.Job) {
        guard let call = calls[job.call], case .sent(var exchange) = call.stage, exchange.beginHedge() else { return }
        let (permit, news) = clients[call.client].admitHedge(at: now)
        if let permit { exchange.hedgeIsSent(permit) } else { exchange.hedgeWasRefused() }
        calls[job.call]?.stage = .sent(exchange)
        if permit != nil {
            let replica = call.choice?.index ?? clients[call.client].anyReplica(using: &random)
            send(Upstream.Job(call: job.call, attempt: job.attempt, copy: .second, replica: replica))
        }
        carryOut(news, of: call.client)
    }

    private mutating func send(_ job: Upstream.Job) {
        let reply = upstreams[job.replica].receive(job, at: now)
        report.sent(job.copy, reply)
        switch reply {
        case .accepted:
            beginJobs(of: job.replica)
            events.add(.timeout(job, isConnected: true), at: now + scenario.timeout)
        case .refused(let head):
            events.add(.refusal(job, head), at: now + Self.roundTrip)
        case .nothing:
            events.add(.timeout(job, isConnected: false), at: now + scenario.timeout)
        }
    }

    private mutating func beginJobs(of replica: Int) {
        while let (job, time) = upstreams[replica].begin(at: now, using: &random) {
            events.add(.served(job), at: now + time)
        }
    }

    // MARK: Ends of attempts

    /// Whether the client still waits for this copy of an attempt.
    private func isWanted(_ job: Upstream.Job) -> Bool {
        guard let call = calls[job.call], call.attempt == job.attempt, case .sent(let exchange) = call.stage
        else { return false }
        return exchange.isRunning(job.copy)
    }

    /// The time since the first copy was sent.
    private func age(of job: Upstream.Job) -> Duration {
        if case .sent(let exchange)? = calls[job.call]?.stage { now - exchange.permit.admitted } else { .zero }
    }

    private mutating func end(_ job: Upstream.Job, _ answer: Exchange.Answer) {
        guard let call = calls[job.call], case .sent(var exchange) = call.stage else { return }
        guard let result = exchange.end(job.copy, answer, at: now) else {
            calls[job.call]?.stage = .sent(exchange)
            return
        }
        calls[job.call]?.stage = .between
        giveBackServer(of: job.call, result.outcome)
        var news: Client.News = []
        if let latency = result.latency { clients[call.client].responseBegan(after: latency) }
        if let permit = exchange.secondPermit {
            news += clients[call.client].finish(permit, result.second, advice(of: result.unusedHead), at: now)
        }
        let advice = advice(of: result.head)
        news += clients[call.client].finish(exchange.permit, result.first, advice, at: now)
        if result.outcome.status == 200 {
            conclude(job.call, isSuccess: true)
        } else {
            retryOrFail(job.call, after: advice?.pause)
        }
        carryOut(news, of: call.client)
    }

    private func advice(of head: ResponseHead?) -> ServerAdvice? {
        // The date matters only for fields that have a date. The server sends none.
        head.flatMap { ServerAdvice($0.headers, status: $0.status, now: .distantPast) }
    }

    /// Ends the use of the attempt's server. `outcome` is `nil` if it was not asked.
    private mutating func giveBackServer(of number: Int, _ outcome: AttemptOutcome?) {
        guard let call = calls[number], let choice = call.choice else { return }
        calls[number]?.choice = nil
        if clients[call.client].finish(choice, outcome, at: now) { calls[number]?.failed.insert(choice.index) }
    }

    /// Decides as a `RetryPolicy` with its defaults does, and then as the session does.
    private mutating func retryOrFail(_ number: Int, after retryAfter: Duration?) {
        guard let call = calls[number] else { return }
        calls[number]?.stage = .between
        let retries = call.attempt - 1
        guard retries < scenario.retryLimit else { return conclude(number, isSuccess: false) }
        let delay = Backoff().delay(beforeRetry: retries, retryAfter: retryAfter, using: &random)
        if clients[call.client].permitsRetry(after: delay, at: now) {
            events.add(.retry(call: number), at: now + delay)
        } else {
            conclude(number, isSuccess: false)
        }
    }

    private mutating func conclude(_ number: Int, isSuccess: Bool) {
        guard let call = calls.removeValue(forKey: number) else { return }
        report.ended.append(
            Report.Ended(
                arrived: call.arrived, ended: now, isSuccess: isSuccess, attempts: call.attempt,
                priority: call.priority))
    }
}
