import CurlewTesting
import Foundation
import Glibc
import Testing

/// By default libcurl waits for its resolver thread when a transfer is removed from its multi handle.
@Suite("Cancellation of a lookup", .timeLimit(.minutes(4)))
struct CancelledLookupTimingTests {
    /// Whether a process can get a new mount namespace with a different /etc/resolv.conf.
    private static let canUnshare: Bool = {
        guard geteuid() == 0 else { return false }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/unshare")
        process.arguments = ["-m", "true"]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    @Test(.enabled(if: canUnshare, "needs root and mount namespaces: not shown here that lookups cancel quickly"))
    func cancelledLookupDoesNotWaitForNameServer() async throws {
        let server = "127.97.11.53"
        let settings = FileManager.default.temporaryDirectory.appending(path: "resolv-\(UUID()).conf")
        try "nameserver \(server)\noptions timeout:5 attempts:1\n".write(
            to: settings, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: settings) }
        let script = "mount --bind \"$1\" /etc/resolv.conf && exec \"$2\" resolve \(server) 7"
        let outcome = try await ProbeProcess.run(
            URL(filePath: "/usr/bin/unshare"),
            arguments: ["-m", "sh", "-c", script, "sh", settings.path, ProbeProcess.executable.path]
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        let rounds = outcome.output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(rounds.count == 7)
        for round in rounds { #expect(round.prefix(2) == ["cancelled", "resolve"]) }
        let times = rounds.compactMap { $0.last.flatMap { Int($0) } }.sorted().map { Duration.milliseconds($0) }
        try #require(times.count == 7)
        // The median decides, because a busy machine may delay single rounds, and a resolver's timeout of 5 s would
        // delay all rounds.
        #expect(times[3] < Duration.milliseconds(50).asTestBound, "\(times)")
    }
}
