import Curlew
import CurlewCore
import CurlewLocks
import CurlewRedis
import Foundation
import Glibc

/// A process of a fleet, for tests of rate limits that processes share. It wants to send more than the limit permits.
///
///     FleetProbe <url> <requests per second> <seconds> <local share>
///
/// Prints `ready` when its clock begins. At the end it prints a line for each tenth of a second of the system's monotonic
/// clock, with the number of the tenth and of the requests that were admitted in it, and a line with the operations, the
/// local requests, the refused ones and the longest wait in milliseconds.
@main
enum FleetProbe {
    private struct Seen {
        var admitted: [Int: Int] = [:]
        var refused = 0
        var longest = Duration.zero
    }

    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let rate = Int(arguments[2]), let seconds = Double(arguments[3]),
            let share = Double(arguments[4])
        else { exit(2) }
        let fleet = RedisRateLimit(
            url: arguments[1], localShare: share, connectTimeout: .milliseconds(500),
            operationTimeout: .milliseconds(500))
        let limit = RateLimit.requests(rate, per: .seconds(1)).shared(by: fleet)
        guard let control = ResilienceControl(Resilience(rateLimit: limit)) else { exit(3) }
        let seen = Lock(Seen())
        let end = ContinuousClock.now + .seconds(seconds)
        print("ready")
        fflush(nil)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { await send(until: end, control, seen) } }
        }
        let (result, numbers) = (seen.withLock { $0 }, fleet.statistics)
        for (tenth, count) in result.admitted.sorted(by: { $0.key < $1.key }) { print(tenth, count) }
        print(numbers.operations, numbers.local, result.refused, Int(result.longest / .milliseconds(1)))
    }

    /// Sends one request after the other, without a server: only their admission counts.
    private static func send(
        until end: ContinuousClock.Instant, _ control: ResilienceControl, _ seen: Lock<Seen>
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
                control.finish(permit, nil, nil)
                seen.withLock {
                    $0.admitted[tenth, default: 0] += 1
                    $0.longest = max($0.longest, waited)
                }
            case .refused: seen.withLock { $0.refused += 1 }
            }
            await Task.yield()
        }
    }
}
