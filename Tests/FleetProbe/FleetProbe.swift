import Curlew
import CurlewCore
import CurlewLocks
import CurlewRedis
import Foundation
import Glibc

/// A process of a fleet, for tests of rate limits and circuits that processes share.
///
///     FleetProbe rate <url> <requests per second> <seconds> <local share>
///     FleetProbe circuit <url, or none> <busy, quiet or healthy>            see CircuitProbe
///
/// With a rate, it wants to send more than the limit permits. It prints `ready` when its clock begins. Once a request is
/// admitted in a later tenth of a second of the system's monotonic clock, it prints a line for each earlier tenth: the
/// number of the tenth, that of the requests that were admitted in it, and that of all requests that were leased so far. A
/// tenth may have several lines, whose requests add up. At the end it prints a line with the operations, the local
/// requests, the refused ones and the longest wait in milliseconds.
@main
enum FleetProbe {
    private struct Seen {
        var admitted: [Int: Int] = [:]
        var refused = 0
        var longest = Duration.zero
        private var newest = Int.min

        /// Records an admission. Returns the earlier tenths, if this is the first one of its tenth.
        mutating func admit(in tenth: Int, after waited: Duration) -> [Int: Int] {
            admitted[tenth, default: 0] += 1
            longest = max(longest, waited)
            guard tenth > newest else { return [:] }
            newest = tenth
            let earlier = admitted.filter { $0.key < tenth }
            admitted = admitted.filter { $0.key >= tenth }
            return earlier
        }
    }

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "rate": await sendAtRate(arguments)
        case "circuit": await sendUntilRefused(arguments)
        default: exit(2)
        }
    }

    private static func sendUntilRefused(_ arguments: [String]) async {
        guard arguments.count == 3, let part = CircuitProbe.Part(rawValue: arguments[2]),
            var probe = CircuitProbe(arguments[1] == "none" ? nil : arguments[1])
        else { exit(2) }
        await probe.run(as: part)
    }

    private static func sendAtRate(_ arguments: [String]) async {
        guard arguments.count == 5, let rate = Int(arguments[2]), let seconds = Double(arguments[3]),
            let share = Double(arguments[4])
        else { exit(2) }
        let fleet = RedisFleet(
            url: arguments[1], localShare: share, connectTimeout: .milliseconds(500),
            operationTimeout: .milliseconds(500))
        let limit = RateLimit.requests(rate, per: .seconds(1)).shared(by: fleet)
        guard let control = ResilienceControl(Resilience(rateLimit: limit)) else { exit(3) }
        let seen = Lock(Seen())
        let end = ContinuousClock.now + .seconds(seconds)
        print("ready")
        fflush(nil)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { await send(until: end, control, fleet, seen) } }
        }
        let (result, numbers) = (seen.withLock { $0 }, fleet.statistics)
        show(result.admitted, fleet)
        print(numbers.operations, numbers.local, result.refused, Int(result.longest / .milliseconds(1)))
    }

    private static func show(_ admitted: [Int: Int], _ fleet: RedisFleet) {
        let granted = fleet.statistics.granted
        for (tenth, count) in admitted.sorted(by: { $0.key < $1.key }) { print(tenth, count, granted) }
        fflush(nil)
    }

    /// Sends one request after the other, without a server: only their admission counts.
    private static func send(
        until end: ContinuousClock.Instant, _ control: ResilienceControl, _ fleet: RedisFleet, _ seen: Lock<Seen>
    ) async {
        let keys = AdmissionKeys(rates: ["fleet"])
        while ContinuousClock.now < end {
            let asked = ContinuousClock.now
            let verdict =
                switch control.ask(keys, .normal, waitingFor: nil) {
                case .decided(let verdict): verdict
                case .waits(let place): await place.verdict.waitThroughCancellation()
                }
            let waited = ContinuousClock.now - asked
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            let tenth = time.tv_sec * 10 + time.tv_nsec / 100_000_000
            switch verdict {
            case .admitted(let permit):
                control.release(permit)
                let earlier = seen.withLock { $0.admit(in: tenth, after: waited) }
                if !earlier.isEmpty { show(earlier, fleet) }
            case .refused: seen.withLock { $0.refused += 1 }
            }
            await Task.yield()
        }
    }
}
