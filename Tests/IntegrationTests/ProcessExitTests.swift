import Foundation
import Glibc
import Testing

/// OpenSSL's clean-up at exit crashes processes whose other threads still use OpenSSL.
@Suite("Process exit", .realServers, .timeLimit(.minutes(5)))
struct ProcessExitTests {
    private func arguments(_ way: String, after exchanges: Int) throws -> [String] {
        [
            way, try IntegrationEnvironment.url("NGINX_TLS", "/small").absoluteString,
            try IntegrationEnvironment.text("CA_FILE"), "\(exchanges)",
        ]
    }

    /// Each round ends the process at another point of its work, from the first handshakes to many requests.
    @Test(arguments: ["exit", "return", "thread"])
    func processExitsCleanlyDuringTransfers(way: String) async throws {
        for round in 0..<14 {
            let outcome = try await ProbeProcess.run(arguments: try arguments(way, after: round * round / 2))
            #expect(outcome.reason == .exit, "round \(round): signal \(outcome.status)")
            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
        }
    }

    @Test func signalEndsProcessDuringTransfers() async throws {
        for round in 0..<8 {
            let outcome = try await ProbeProcess.run(
                arguments: try arguments("wait", after: round * 5), terminates: true)
            #expect(outcome.reason == .uncaughtSignal)
            #expect(outcome.status == SIGTERM)
            #expect(outcome.errors == "")
        }
    }
}
