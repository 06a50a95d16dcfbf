/// Stops sending requests to a server that fails, and finds out when it has recovered.
///
///     configuration.resilience.breaker = CircuitBreaker(failureRate: 0.5, window: .time(.seconds(30)))
///
///     closed ── too many failures or slow responses ──▶ open ── after `openFor` ──▶ half-open
///       ▲                                                ▲                            │ │
///       │                                                └───────── the probe fails ──┘ │
///       └───────────────────────────────────── `probes` in a row have succeeded ────────┘
///
/// While it is open, requests fail at once with `.circuitOpen`, and a retry that would still find it open is not made.
/// In the half-open state one request at a time is sent, as a probe.
public struct CircuitBreaker: Sendable {
    /// The outcomes that are considered.
    public enum Window: Sendable, Hashable {
        /// This number of the last outcomes: at least 1, at most 10,000.
        case count(Int)
        /// The outcomes of the last period of this length, which advances in steps of a tenth.
        case time(Duration)
    }

    /// Why a circuit has opened.
    public enum OpeningCause: Sendable, Hashable {
        /// Too many of the outcomes in the window were failures.
        case failures(Int, of: Int)
        /// Too many of the outcomes in the window were slow.
        case slow(Int, of: Int)
        /// A probe has failed, or was slow.
        case probe
    }

    /// The share of failures, from 0 to 1, that opens the circuit.
    public var failureRate: Double
    /// The share of slow outcomes, from 0 to 1, that opens the circuit.
    public var slowRate: Double
    /// The latency from which an outcome is slow. `nil`: none is.
    public var slowAfter: Duration?
    /// The outcomes that are considered.
    public var window: Window
    /// The minimum number of outcomes in the window for the circuit to open. A window of fewer outcomes needs to be
    /// full.
    public var minimumCalls: Int
    /// The time for which the circuit stays open.
    public var openFor: Duration
    /// The number of probes in a row that close the circuit.
    public var probes: Int
    /// Decides which outcomes are failures. Called without a lock, on the task of the request.
    public var isFailure: @Sendable (AttemptOutcome) -> Bool
    package let scope: ResilienceScope
    /// The processes that share the circuits. `nil` if only this session uses them.
    package private(set) var fleet: (any CircuitSharing)?

    /// Creates a breaker. The defaults open it when half of the last 100 outcomes were failures, and at least 20 of
    /// them are known.
    public init(
        failureRate: Double = 0.5,
        slowRate: Double = 1,
        slowAfter: Duration? = nil,
        window: Window = .count(100),
        minimumCalls: Int = 20,
        openFor: Duration = .seconds(10),
        probes: Int = 1,
        per scope: ResilienceScope = .origin,
        isFailure: @escaping @Sendable (AttemptOutcome) -> Bool = { $0.isServerFailure }
    ) {
        self.failureRate = failureRate
        self.slowRate = slowRate
        self.slowAfter = slowAfter
        self.window = window
        self.minimumCalls = minimumCalls
        self.openFor = openFor
        self.probes = probes
        self.scope = scope
        self.isFailure = isFailure
    }

    /// Returns this breaker, whose circuits the processes of a fleet share.
    package func shared(byFleet fleet: any CircuitSharing) -> CircuitBreaker {
        var shared = self
        shared.fleet = fleet
        return shared
    }

    /// `minimumCalls`, but no more than the window can hold: otherwise the circuit would never open.
    package var callsNeeded: Int {
        switch window {
        case .count(let size): max(1, min(minimumCalls, size))
        case .time: max(1, minimumCalls)
        }
    }

    /// Returns the outcome as the circuit counts it.
    package func call(_ outcome: AttemptOutcome) -> CircuitState.Call {
        let isSlow = slowAfter.map { outcome.latency >= $0 } ?? false
        return CircuitState.Call(isFailure: isFailure(outcome), isSlow: isSlow)
    }
}

/// A circuit: the state of a breaker for one name. Times are durations since any fixed start.
///
/// Every change of the phase begins a generation. An outcome counts only in the generation in which its request was
/// sent: one that was sent before the circuit opened says nothing about the server's recovery. Generations and probes
/// are numbered together, so that one number tells whether a request belongs to this generation, and whether it is the
/// probe that holds up others.
package struct CircuitState: Sendable, Equatable {
    /// An outcome, as the circuit counts it.
    package struct Call: Sendable, Hashable {
        package let isFailure: Bool
        package let isSlow: Bool

        package init(isFailure: Bool, isSlow: Bool = false) {
            self.isFailure = isFailure
            self.isSlow = isSlow
        }
    }

    package struct Probe: Sendable, Equatable {
        let number: Int
        let start: Duration
    }

    package enum Phase: Sendable, Equatable {
        case closed
        case open(until: Duration)
        /// `probing`: the last probe, while no other request may be sent because of it.
        case halfOpen(succeeded: Int, probing: Probe?)
    }

    /// A change that the end of a request has caused.
    package enum Change: Sendable, Equatable {
        case opened(for: Duration, CircuitBreaker.OpeningCause)
        case closed
    }

    package enum Answer: Sendable, Equatable {
        case pass
        /// `after`: the time until the circuit is half-open, zero while a probe is in flight.
        case refuse(after: Duration)
    }

    /// The numbers of the breaker. Without its closures, whose copies count references in each decision.
    private struct Rule: Sendable, Equatable {
        let failureRate: Double
        let slowRate: Double
        let callsNeeded: Int
        let openFor: Duration
        let probes: Int
    }

    private let rule: Rule
    package private(set) var phase = Phase.closed
    private var window: OutcomeWindow
    /// The number of the generation, and the last number of a generation or a probe.
    private var (generation, lastNumber) = (0, 0)
    /// The time at which a request was last sent, or ended.
    private var used: Duration = .zero
    /// The end of the time for which another process's circuit is known to be open. Until then this one may open without
    /// the minimum of calls.
    private var suspectedUntil: Duration = .zero
    /// The time after which a circuit that nobody uses is forgotten. By then its outcomes mean nothing.
    private static let memory = Duration.seconds(600)

    package init(_ breaker: CircuitBreaker) {
        rule = Rule(
            failureRate: breaker.failureRate, slowRate: breaker.slowRate, callsNeeded: breaker.callsNeeded,
            openFor: breaker.openFor, probes: breaker.probes)
        window = OutcomeWindow(breaker.window)
    }

    /// Whether a request may be sent. Makes an open circuit half-open once its time is over.
    package mutating func check(at now: Duration) -> Answer {
        switch phase {
        case .closed: return .pass
        case .open(let until):
            guard now >= until else { return .refuse(after: until - now) }
            enter(.halfOpen(succeeded: 0, probing: nil))
            return .pass
        case .halfOpen(let succeeded, let probing):
            guard let probing else { return .pass }
            // A probe that takes longer than the circuit stays open, such as a long stream, holds up no other request.
            // Its outcome still counts: otherwise a circuit whose probes are all slow would never close.
            guard now - probing.start >= rule.openFor else { return .refuse(after: .zero) }
            phase = .halfOpen(succeeded: succeeded, probing: nil)
            return .pass
        }
    }

    /// Records that a request is sent that `check` has just let pass. Returns the request's number for `end`.
    package mutating func begin(at now: Duration) -> Int {
        used = now
        if case .halfOpen(let succeeded, nil) = phase {
            lastNumber += 1
            phase = .halfOpen(succeeded: succeeded, probing: Probe(number: lastNumber, start: now))
        }
        return lastNumber
    }

    /// Records the end of a request; `nil` if it says nothing about the server.
    @discardableResult
    package mutating func end(_ call: Call?, of begun: Int, at now: Duration) -> Change? {
        guard begun >= generation else { return nil }
        used = now
        switch phase {
        case .open: break
        case .closed:
            guard let call else { return nil }
            window.add(call, at: now)
            let counts = window.counts(at: now)
            let isEnough = counts.calls >= rule.callsNeeded
            // Below the minimum a success never opens the circuit, whatever old failures the window still has.
            guard isEnough || now < suspectedUntil && (call.isFailure || call.isSlow) else { return nil }
            let (calls, failures, slow) = (Double(counts.calls), Double(counts.failures), Double(counts.slow))
            let isFailing = counts.failures > 0 && failures >= rule.failureRate * calls
            let isSlow = counts.slow > 0 && slow >= rule.slowRate * calls
            guard isFailing || isSlow else { return nil }
            return open(
                because: isFailing
                    ? .failures(counts.failures, of: counts.calls) : .slow(counts.slow, of: counts.calls),
                at: now)
        case .halfOpen(let succeeded, let probing):
            // An ended probe makes room for another one, unless it took so long that the other is in flight already.
            let stillProbing = probing?.number == begun ? nil : probing
            guard let call else {
                phase = .halfOpen(succeeded: succeeded, probing: stillProbing)
                return nil
            }
            if call.isFailure || call.isSlow { return open(because: .probe, at: now) }
            if succeeded + 1 >= rule.probes {
                enter(.closed)
                return .closed
            }
            phase = .halfOpen(succeeded: succeeded + 1, probing: stillProbing)
        }
        return nil
    }

    /// Lifts the minimum number of calls, because another process's circuit is open for `remaining`. It does not open
    /// this circuit: otherwise one process that cannot reach the server would stop all those that can.
    package mutating func suspect(for remaining: Duration, at now: Duration) {
        // The circuit may be open or half-open because of the very opening that the answer reports. Its probes decide.
        guard case .closed = phase else { return }
        // Bounded by this process's own number: the other one may have a different number, and the clock of the server
        // between them may have been set back.
        suspectedUntil = max(suspectedUntil, now + min(remaining, rule.openFor))
    }

    /// Whether other processes may hear of an opening: of one that this process's outcomes alone have caused, with the
    /// minimum of calls.
    package func mayBePublished(_ cause: CircuitBreaker.OpeningCause) -> Bool {
        switch cause {
        case .failures(_, let calls), .slow(_, let calls): calls >= rule.callsNeeded
        case .probe: false
        }
    }

    private mutating func open(because cause: CircuitBreaker.OpeningCause, at now: Duration) -> Change {
        enter(.open(until: now + rule.openFor))
        return .opened(for: rule.openFor, cause)
    }

    private mutating func enter(_ next: Phase) {
        phase = next
        lastNumber += 1
        generation = lastNumber
        window.removeAll()
    }

    package func counts(at now: Duration) -> OutcomeWindow.Counts { window.counts(at: now) }

    /// Whether the circuit can be forgotten.
    package func isIdle(at now: Duration) -> Bool {
        switch phase {
        case .closed: window.counts(at: now).calls == 0 || now - used >= Self.memory
        case .open(let until): now - max(used, until) >= Self.memory
        case .halfOpen: now - used >= Self.memory
        }
    }
}

/// The outcomes of a sliding window, in a fixed amount of memory. A time before an earlier one counts as the earlier one.
package struct OutcomeWindow: Sendable, Equatable {
    package struct Counts: Sendable, Equatable {
        package var calls = 0
        package var failures = 0
        package var slow = 0

        package init() {}

        fileprivate mutating func add(_ call: CircuitState.Call, _ sign: Int = 1) {
            calls += sign
            if call.isFailure { failures += sign }
            if call.isSlow { slow += sign }
        }

        fileprivate mutating func add(_ other: Counts) {
            calls += other.calls
            failures += other.failures
            slow += other.slow
        }
    }

    private enum Storage: Sendable, Equatable {
        /// The last calls in a ring, which `next` overwrites once it is full.
        case last([CircuitState.Call], next: Int, capacity: Int, Counts)
        /// The tenths of the window with an outcome.
        case tenths([Tenth], length: Duration)
    }

    private struct Tenth: Sendable, Equatable {
        /// The number of tenths before this one, since the start of the clock.
        let number: Int
        var counts = Counts()
    }

    private var storage: Storage

    package init(_ window: CircuitBreaker.Window) {
        storage =
            switch window {
            case .count(let count): .last([], next: 0, capacity: min(max(count, 1), 10_000), Counts())
            case .time(let time):
                .tenths([], length: min(max(time, .milliseconds(10)), .seconds(86_400)) / 10)
            }
    }

    package mutating func removeAll() {
        switch storage {
        case .last(_, _, let capacity, _): storage = .last([], next: 0, capacity: capacity, Counts())
        case .tenths(_, let length): storage = .tenths([], length: length)
        }
    }

    package mutating func add(_ call: CircuitState.Call, at now: Duration) {
        switch storage {
        case .last(var calls, let next, let capacity, var counts):
            // The stored array is released first, so that changing it does not copy it.
            storage = .last([], next: 0, capacity: capacity, Counts())
            if calls.count < capacity {
                calls.append(call)
            } else {
                counts.add(calls[next], -1)
                calls[next] = call
            }
            counts.add(call)
            storage = .last(calls, next: (next + 1) % capacity, capacity: capacity, counts)
        case .tenths(var tenths, let length):
            let number = Self.number(of: now, length, after: tenths)
            tenths.removeAll { $0.number <= number - 10 }
            if tenths.last?.number != number { tenths.append(Tenth(number: number)) }
            tenths[tenths.count - 1].counts.add(call)
            storage = .tenths(tenths, length: length)
        }
    }

    package func counts(at now: Duration) -> Counts {
        switch storage {
        case .last(_, _, _, let counts): return counts
        case .tenths(let tenths, let length):
            let number = Self.number(of: now, length, after: tenths)
            return tenths.reduce(into: Counts()) { if $1.number > number - 10 { $0.add($1.counts) } }
        }
    }

    private static func number(of time: Duration, _ length: Duration, after tenths: [Tenth]) -> Int {
        max(Int(time / length), tenths.last?.number ?? .min)
    }
}

/// The end of an attempt, as circuit breakers and adaptive limits see it.
///
/// Attempts that were cancelled, failed on this side, or were served from a cache have no outcome.
public struct AttemptOutcome: Sendable {
    /// The status of the response; `nil` if there was none.
    public var status: Int?
    /// The error; `nil` if the attempt has succeeded.
    public var error: CurlewError?
    /// The time until the response began, or until the attempt failed.
    public var latency: Duration

    /// Creates an outcome.
    public init(status: Int? = nil, error: CurlewError? = nil, latency: Duration = .zero) {
        self.status = status
        self.error = error
        self.latency = latency
    }

    /// Whether the server could not be reached, did not respond in time, broke the protocol, or has responded with a
    /// status of 500 or above, other than 501. The default of ``CircuitBreaker``.
    public var isServerFailure: Bool {
        if let error {
            if error.isTimeout || error.isConnectivity || error.isTLS { return true }
            if error.code == .protocolViolation || error.code == .contentDecodingFailed { return true }
        }
        return status.map { $0 >= 500 && $0 != 501 } ?? false
    }

    /// Whether the server had more requests than it can serve: it was too slow, or said so (429, 503).
    package var isOverload: Bool {
        error?.isTimeout == true || status == 429 || status == 503
    }
}
