import CurlewCore
import CurlewTesting
import Foundation
import Glibc
import Testing

/// The `curlew` command with real servers. Tests that need no real servers are in CurlewToolTests.
@Suite("curlew command with real servers", .realServers, .timeLimit(.minutes(4)))
struct ToolTests {
    private static let executable = ProbeProcess.executable.deletingLastPathComponent().appending(path: "curlew")

    private func curlew(_ arguments: String...) async throws -> ProbeProcess.Outcome {
        try await ProbeProcess.run(Self.executable, arguments: arguments)
    }

    private var ca: String { get throws { try IntegrationEnvironment.text("CA_FILE") } }

    @Test func toolUsesHTTP2OverTLS() async throws {
        let url = try IntegrationEnvironment.text("NGINX_TLS")
        let outcome = try await curlew("--verify", try ca, "--print=hm", url + "/small")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.hasPrefix("HTTP/2 200"))
        #expect(outcome.output.contains("\nProtocol: HTTP/2"))
        let older = try await curlew("--verify", try ca, "--http-version", "1.1", "-h", url + "/small")
        #expect(older.output.hasPrefix("HTTP/1.1 200 OK"))
    }

    @Test(arguments: [
        ("NGINX_TLS", "is not signed by a certificate authority trusted here", "--verify=FILE"),
        ("NGINX_EXPIRED", "is not valid now", "Check the clock"),
        ("NGINX_WRONG_HOST", "belongs to another host", "Use a host name"),
        ("CLOSED", "no connection to", "Check that the server is running"),
    ])
    func errorExplainsCauseAndRemedy(_ server: String, _ what: String, _ hint: String) async throws {
        let url = try IntegrationEnvironment.text(server)
        // For the first server the tool does not get the CA.
        let trust = server == "NGINX_TLS" ? "yes" : try ca
        let outcome = try await curlew("--verify", trust, url + "/small")
        #expect(outcome.status == 1)
        #expect(outcome.output == "")
        #expect(outcome.errors.hasPrefix("curlew: error: "))
        #expect(outcome.errors.contains(what), "\(outcome.errors)")
        #expect(outcome.errors.contains("\n  phase: "))
        #expect(outcome.errors.contains("\n  try: " + hint), "\(outcome.errors)")
    }

    @Test func toolSendsItsClientCertificate() async throws {
        let url = try IntegrationEnvironment.text("NGINX_CLIENT_CERTIFICATE")
        let (certificate, key) = (
            try IntegrationEnvironment.text("CLIENT_CERTIFICATE"), try IntegrationEnvironment.text("CLIENT_KEY")
        )
        let shown = try await curlew(
            "--check-status", "--verify", try ca, "--cert", certificate, "--cert-key", key, url + "/small")
        #expect(shown.status == 0, "\(shown.errors)")
        #expect(try await curlew("--check-status", "--verify", try ca, url + "/small").status == 4)
    }

    @Test func toolUsesProxiesAndUnixSockets() async throws {
        let url = try IntegrationEnvironment.text("NGINX") + "/small"
        for proxy in ["PROXY", "SOCKS"] {
            let outcome = try await curlew("--check-status", "--proxy", try IntegrationEnvironment.text(proxy), url)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        let socket = try IntegrationEnvironment.text("NGINX_UNIX_SOCKET")
        #expect(try await curlew("--check-status", "--unix-socket", socket, "localhost/small").status == 0)
    }

    @Test("an interrupted download from nginx continues, and has the right checksum", arguments: [1, 3])
    func downloads(segments: Int) async throws {
        let scratch = try ScratchDirectory()
        let body = TestServer.patternBytes(count: 6_000_000)
        let name = UUID().uuidString
        let stored = try IntegrationEnvironment.file("NGINX_STORED").appending(path: name)
        defer { try? FileManager.default.removeItem(at: stored) }
        let url = try IntegrationEnvironment.text("NGINX") + "/stored/\(name)"
        let source = try scratch.write("source", body).path
        #expect(try await curlew("--check-status", "PUT", url, "@" + source).status == 0)
        let target = scratch.file("target").path(percentEncoded: false)
        let arguments = ["--download", "--output", target, "--ignore-stdin", url]
        let slow = Process()
        slow.executableURL = Self.executable
        slow.arguments = arguments + ["--limit-rate", "200k", "--segments", "\(segments)"]
        slow.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        slow.standardError = errors
        let ended = AsyncStream<Void>.makeStream()
        slow.terminationHandler = { _ in ended.continuation.finish() }
        try slow.run()
        try await untilBytesCome(in: scratch)
        kill(slow.processIdentifier, SIGINT)
        for await _ in ended.stream {}
        let text = errors.fileHandleForReading.readDataToEndOfFile()
        #expect(slow.terminationStatus == 130, "\(String(decoding: text, as: UTF8.self))")
        #expect(scratch.names.contains("target.curlew-resume"))
        let sum = try await sha256(source)
        let outcome = try await ProbeProcess.run(
            Self.executable, arguments: arguments + ["--continue", "--checksum", "sha256:" + sum])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(scratch.names == ["source", "target"])
        #expect(scratch.read("target") == body)
    }

    /// Waits until bytes of the body have been written. The file's length does not show that: before its first byte,
    /// the file has its whole length in zeros, into which the segments are written.
    private func untilBytesCome(in scratch: ScratchDirectory) async throws {
        for _ in 0..<1000 {
            let haveCome = scratch.names.contains { name in
                name.hasSuffix(".part") && scratch.read(name)?.prefix(1000).contains { $0 != 0 } == true
            }
            if haveCome { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("nothing has come: \(scratch.names)")
    }

    private func sha256(_ path: String) async throws -> String {
        let outcome = try await ProbeProcess.run(URL(filePath: "/usr/bin/sha256sum"), arguments: [path])
        return String(outcome.output.prefix { $0 != " " })
    }
}
