import Testing

/// Eight processes and a server that fails for seven of them: for one that sends many requests, and for six that send few.
/// The eighth one reaches the server.
@Suite(
    "Circuits that eight processes share",
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct FleetCircuitTests {
    /// The numbers that a process prints at its end.
    private struct Numbers {
        let sent: Int
        let refused: Int
        /// The openings that it has published.
        let published: Int
        /// The answers by which the circuit is open in some process.
        let openAnswers: Int

        init(of process: FleetProcess) async throws {
            let line = try #require(await process.lines().last)
            try #require(line.count == 4)
            (sent, refused, published, openAnswers) = (line[0], line[1], line[2], line[3])
        }
    }

    private struct Fleet {
        let busy: Numbers
        var quiet: [Numbers] = []
        let healthy: Numbers

        /// Runs eight processes until each of them has ended.
        init(_ url: String) async throws {
            let healthy = try FleetProcess("circuit", url, "healthy")
            let quiet = try (0..<6).map { _ in try FleetProcess("circuit", url, "quiet") }
            let busy = try FleetProcess("circuit", url, "busy")
            self.busy = try await Numbers(of: busy)
            for process in quiet { self.quiet.append(try await Numbers(of: process)) }
            self.healthy = try await Numbers(of: healthy)
        }
    }

    @Test("one process's opening lets the others open after few failures; a process without failures is never refused")
    func shared() async throws {
        let server = try await RedisProcess()
        let fleet = try await Fleet(server.url())
        #expect(fleet.busy.sent == 1_000 && fleet.busy.refused > 0 && fleet.busy.published == 1)
        for process in fleet.quiet {
            #expect(process.refused == 1, "of at most 18 calls, see CircuitProbe")
            #expect(process.published == 0, "an opening with few calls is not published")
        }
        // It knows of the opening, and has sent a thousand requests since.
        #expect(fleet.healthy.openAnswers > 0 && fleet.healthy.sent > 1_000 && fleet.healthy.refused == 0)

        let alone = try await Fleet("none")
        for process in alone.quiet + [alone.busy] { #expect(process.sent == 1_000 && process.refused == 1) }
        #expect(alone.healthy.sent == 1_000 && alone.healthy.refused == 0)
    }
}
