import Curlew
import CurlewCore
import CurlewLocks
import CurlewRedis
import Glibc

/// A process that sends requests to one server, and whose circuit the fleet shares, if there is one. Requests are only
/// admitted, and each has the outcome that the part decides.
struct CircuitProbe {
    enum Part: String {
        /// Every request fails, and the next one follows at once.
        case busy
        /// Every request fails. The next one follows after a pause, which is doubled each time, so that few requests are
        /// sent however long the fleet takes to answer.
        case quiet
        /// Every request succeeds.
        case healthy
    }

    /// Asks a fleet, and counts the answers by which the circuit is open in some process.
    private final class ListeningFleet: CircuitSharing {
        let fleet: RedisFleet
        private let counted = Lock(0)

        init(_ fleet: RedisFleet) { self.fleet = fleet }

        var circuitRefresh: Duration { fleet.circuitRefresh }
        var openAnswers: Int { counted.withLock { $0 } }

        func ask(_ question: [CircuitQuestion]) async -> [Duration]? {
            let answer = await fleet.ask(question)
            if let answer, answer.contains(where: { $0 > .zero }) { counted.withLock { $0 += 1 } }
            return answer
        }
    }

    /// The number of outcomes that opens a circuit if no other one is open.
    private static let minimumCalls = 1_000
    /// The number of requests of a quiet process. Before the last one it has waited for more than two minutes.
    private static let mostQuietCalls = 18
    /// The number of pauses of 10 ms after which a process gives up that waits for the fleet.
    private static let mostPauses = 12_000

    private let control: ResilienceControl
    private let fleet: ListeningFleet?
    private var (sent, refused) = (0, 0)

    /// Without a URL, the circuit is that of this process alone.
    init?(_ url: String?) {
        var breaker = CircuitBreaker(
            window: .count(Self.minimumCalls), minimumCalls: Self.minimumCalls, openFor: .seconds(3_600))
        fleet = url.map { url in
            ListeningFleet(
                RedisFleet(
                    url: url, circuitRefresh: .milliseconds(10), connectTimeout: .seconds(5),
                    operationTimeout: .seconds(5)))
        }
        if let fleet { breaker = breaker.shared(byFleet: fleet) }
        guard let control = ResilienceControl(Resilience(breaker: breaker)) else { return nil }
        self.control = control
    }

    /// Prints the numbers of requests that were sent and refused, of openings that were published, and of answers by
    /// which the circuit is open in some process.
    mutating func run(as part: Part) async {
        switch part {
        case .quiet where fleet != nil: await sendWithPauses()
        // Without a fleet, pauses would change nothing: the number of its own failures opens the circuit.
        case .busy, .quiet:
            while refused == 0, sent < 2 * Self.minimumCalls { send(failing: true) }
            // Each request, also one that is refused, asks again if the opening was not published.
            await send(failing: true, until: { $0.fleet.statistics.openings > 0 })
        case .healthy:
            await send(failing: false, until: { $0.openAnswers > 0 })
            for _ in 0..<Self.minimumCalls { send(failing: false) }
        }
        print(sent, refused, fleet?.fleet.statistics.openings ?? 0, fleet?.openAnswers ?? 0)
    }

    private mutating func sendWithPauses() async {
        for number in 0..<Self.mostQuietCalls {
            if number > 0 { try? await Task.sleep(for: .milliseconds(1 << (number - 1))) }
            send(failing: true)
            if refused > 0 { return }
        }
    }

    private mutating func send(failing: Bool, until condition: (ListeningFleet) -> Bool) async {
        guard let fleet else { return }
        for _ in 0..<Self.mostPauses {
            if condition(fleet) { return }
            send(failing: failing)
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    private mutating func send(failing: Bool) {
        switch control.ask(AdmissionKeys(circuit: "fleet"), .normal, waitingFor: .zero) {
        case .decided(.admitted(let permit)):
            sent += 1
            control.finish(permit, outcome: AttemptOutcome(status: failing ? 503 : 200), advice: nil)
        // Without time to wait, no request waits.
        case .decided(.refused), .waits: refused += 1
        }
    }
}
