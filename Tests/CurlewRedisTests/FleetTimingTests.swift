import Curlew
import CurlewCore
import CurlewRedis
import CurlewTesting
import Foundation
import Glibc
import StoreSupport
import Testing

@Suite(
    "A fleet of eight processes",
    .serialized,
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct FleetTimingTests {
    private static let isSanitized = (ProcessInfo.processInfo.environment["CURLEW_SANITIZER"] ?? "plain") != "plain"
    private static let rate = isSanitized ? 2_000 : 10_000

    /// The requests of all processes, by tenths of the system's monotonic clock, and the sums of their other numbers.
    private struct Result {
        var tenths: [Int: Int] = [:]
        var (operations, local, refused, longest) = (0, 0, 0, 0)

        var sent: Int { tenths.values.reduce(0, +) }

        /// The requests per second between two tenths.
        func rate(_ range: Range<Int>) -> Double {
            Double(range.reduce(0) { $0 + (tenths[$1] ?? 0) }) * 10 / Double(range.count)
        }
    }

    /// The current tenth of the clock that the probes use.
    private static var tenth: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 10 + time.tv_nsec / 100_000_000
    }

    private func start(_ server: RedisProcess, seconds: Double) async throws -> [FleetProcess] {
        let probes = try (0..<8).map { _ in
            try FleetProcess("rate", server.url(), "\(Self.rate)", "\(seconds)", "\(1.0 / 16)")
        }
        for probe in probes { try #require(await probe.isReady()) }
        return probes
    }

    private func result(of probes: [FleetProcess]) async throws -> Result {
        var result = Result()
        for probe in probes {
            let lines = await probe.lines()
            for line in lines.dropLast() where line.count == 3 { result.tenths[line[0], default: 0] += line[1] }
            let numbers = try #require(lines.last)
            try #require(numbers.count == 4)
            result.operations += numbers[0]
            result.local += numbers[1]
            result.refused += numbers[2]
            result.longest = max(result.longest, numbers[3])
        }
        return result
    }

    @Test("the fleet sends as much as the limit permits, and rarely asks Redis") func total() async throws {
        let server = try await RedisProcess()
        let probes = try await start(server, seconds: 6)
        // Without the first second, in which processes start, and the last one, in which they end.
        let from = Self.tenth + 10
        let result = try await result(of: probes)
        let rate = result.rate(from..<from + 40)
        #expect(rate <= Double(Self.rate) * 1.05)
        if !Self.isSanitized { #expect(rate >= Double(Self.rate) * 0.95) }
        #expect(Double(result.operations) <= 0.1 * Double(result.sent))
        #expect(result.refused == 0)
    }

    @Test("below the limit, a request rarely waits for Redis") func rarelyWaits() async throws {
        let server = try await RedisProcess()
        let fleet = RedisFleet(url: server.url())
        let limit = RateLimit.requests(10_000, per: .seconds(1)).shared(by: fleet)
        let control = try #require(ResilienceControl(Resilience(rateLimit: limit)))
        let keys = AdmissionKeys(rates: ["fleet"])
        var (sent, waits, longest) = (0, 0, Duration.zero)
        let start = ContinuousClock.now
        // A fifth of the limit, every two milliseconds. A pause that took longer is made up for.
        while ContinuousClock.now - start < .seconds(4) {
            while sent < Int((ContinuousClock.now - start) / .milliseconds(2)) * 4 {
                sent += 1
                switch control.ask(keys, .normal, waitingFor: nil) {
                case .decided(.admitted(let permit)): control.release(permit)
                case .decided(.refused(let refusal)): Issue.record("\(refusal)")
                case .waits(let place):
                    let asked = ContinuousClock.now
                    let verdict = await place.verdict.waitThroughCancellation()
                    if case .admitted(let permit) = verdict { control.release(permit) }
                    waits += 1
                    longest = max(longest, ContinuousClock.now - asked)
                }
            }
            try await Task.sleep(for: .milliseconds(1))
        }
        let operations = fleet.statistics.operations
        #expect(waits * 100 <= sent, "\(waits) of \(sent) have waited, the longest for \(longest)")
        #expect(operations > 0 && operations * 10 <= sent, "\(operations) operations for \(sent) requests")
    }

    @Test("without the server each process sends its local share; when it is back, the fleet sends up to the limit")
    func killed() async throws {
        let server = try await RedisProcess()
        let probes = try await start(server, seconds: 16)
        // Each process has leases. They are over a second after the last one has begun.
        for probe in probes { try #require(await probe.hasLine { $0.count == 3 && $0[2] > 0 }) }
        try await server.kill()
        let away = Self.tenth + 12
        // Each process has sent requests without the server for almost three seconds.
        for probe in probes { try #require(await probe.hasLine { $0.count == 3 && $0[0] >= away + 28 }) }
        let back = Self.tenth
        try await server.start()
        let result = try await result(of: probes)
        let share = result.rate(away..<back - 1)
        #expect(share <= Double(Self.rate) / 2 * 1.05)
        #expect(share > 0 && result.local > 0 && result.refused == 0)
        // Nothing hangs: some process sends in each half of a second.
        for start in stride(from: away, to: back - 5, by: 5) { #expect(result.rate(start..<start + 5) > 0) }
        // By then, a process asks the server about every four seconds.
        let end = result.tenths.keys.max() ?? 0
        let after = result.rate(end - 15..<end - 5)
        #expect(after <= Double(Self.rate) * 1.05)
        if !Self.isSanitized { #expect(after >= Double(Self.rate) * 0.9) }
    }
}
