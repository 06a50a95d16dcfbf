import Curlew
import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// Sends many requests, of which many fail, and expects that no resource leaks. `scripts/soak` is the long form:
/// `CURLEW_SOAK_REQUESTS` sets the number, `CURLEW_SOAK_SEED` the mix, and `CURLEW_HELD_REQUESTS` the number of
/// requests that are held open.
@Suite("Soak", .realServers, .serialized, .timeLimit(.minutes(120)))
struct SoakProcessWideTests {
    private static let workers = 32

    @Test func mixOfFaultsLeaksNothing() async throws {
        let total = IntegrationEnvironment.number("CURLEW_SOAK_REQUESTS", default: 3_000)
        let seed = UInt64(IntegrationEnvironment.number("CURLEW_SOAK_SEED", default: 1))
        let kinds = SoakKind.chosen
        let check: LeakCheck
        do {
            // A first client creates the resources that the process keeps until its end, such as pools and the state of
            // libraries.
            let warmUp = try SoakClient()
            for kind in kinds { _ = try await warmUp.run(kind, kind.url(), bodySize: 1) }
            await warmUp.session.invalidate()
            check = LeakCheck(.fileDescriptors, .threads(allowing: 4))
        }
        do {
            let client = try SoakClient()
            // Samples are taken between the parts, when no transfer may be live.
            var samples: [SoakSample] = []
            let parts = 10
            for part in 0..<parts {
                let counts = try await Self.run(total / parts, seed: seed &* 1_000 &+ UInt64(part), kinds, on: client)
                #expect(counts.surprises == [:])
                // Statistics are published at the end of a turn of the loop, and the last turn may still be running.
                while client.transport.statistics.liveTransfers > 0 { try await Task.sleep(for: .milliseconds(2)) }
                samples.append(await .take(after: (part + 1) * (total / parts), of: client))
            }
            print(([SoakSample.heading] + samples.map(\.line)).joined(separator: "\n"))
            try Self.expectFlat(samples)
            #expect(client.transport.statistics.easyHandlesInUse == 0)
        }
        // The client has been released without a shutdown.
        try await check.wait(timeout: .seconds(10))
    }

    private struct Counts: Sendable {
        var surprises: [String: Int] = [:]
    }

    /// Runs `count` requests of the mix that follows from the seed, and counts those with an unexpected outcome.
    private static func run(
        _ count: Int,
        seed: UInt64,
        _ kinds: [SoakKind],
        on client: SoakClient
    ) async throws -> Counts {
        let mix = try kinds.map { (kind: $0, url: try $0.url(), share: $0.share) }
        let shares = mix.reduce(0) { $0 + $1.share }
        return await withTaskGroup(of: Counts.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    var counts = Counts()
                    var random = SoakRandom(seed: seed &* 64 &+ UInt64(worker))
                    for _ in stride(from: worker, to: count, by: workers) {
                        var ticket = random.below(shares)
                        guard
                            let (kind, url, _) = mix.first(where: {
                                ticket -= $0.share
                                return ticket < 0
                            })
                        else { continue }
                        let size = 1 << random.below(18)
                        let code = await client.run(kind, url, bodySize: size)
                        if kind.allows(code) { continue }
                        counts.surprises["\(kind): \(code.map { "\($0)" } ?? "success")", default: 0] += 1
                    }
                    return counts
                }
            }
            return await group.reduce(into: Counts()) { $0.surprises.merge($1.surprises, uniquingKeysWith: +) }
        }
    }

    /// Expects no growth after the first part: descriptors and threads stay within the need of `workers` concurrent
    /// requests, and memory within the variation of an allocator's arenas.
    private static func expectFlat(_ samples: [SoakSample]) throws {
        let first = try #require(samples.first)
        for sample in samples {
            #expect(sample.liveTransfers == 0 && sample.registered == 0, "\(sample.line)")
            #expect(sample.idleHandles <= 2 * workers, "\(sample.line)")
            #expect(sample.fileDescriptors <= first.fileDescriptors + workers, "\(sample.line)")
            #expect(sample.threads <= first.threads + 8, "\(sample.line)")
            if !IntegrationEnvironment.isSanitized {
                #expect(sample.residentKilobytes - first.residentKilobytes < 8 * 1024, "\(sample.line)")
            }
        }
    }

    @Test func manyOpenRequestsSucceedOnFewThreads() async throws {
        let count = IntegrationEnvironment.number("CURLEW_HELD_REQUESTS", default: 200)
        let transport = makeTransport {
            $0.maximumConnectionsPerHost = count
            $0.maximumConnections = count
        }
        let gate = Gate()
        let server = try TestServer()
        server.route("/held") { _ in .text("held").stalling(until: gate, at: .inBody(after: 1)) }
        let url = server.url("/held")
        _ = try await transport.exchange(server.url("/get"))
        let threads = LeakCheck(.threads(allowing: 4))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await transport.exchange(url).status } }
            try await eventually(within: .seconds(300)) { transport.statistics.liveTransfers >= count }
            #expect(threads.leaks.isEmpty)
            gate.open()
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: count))
        while transport.statistics.liveTransfers > 0 { try await Task.sleep(for: .milliseconds(2)) }
    }
}

/// A generator whose numbers follow from the seed alone.
private struct SoakRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int((state >> 11) % UInt64(limit))
    }
}
