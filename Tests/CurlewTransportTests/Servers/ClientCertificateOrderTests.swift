import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

/// A server that asks for a certificate, and says so when it has seen one.
private final class AskingServer {
    let url: URL
    let identity: ClientIdentity
    private let process = Process()
    private let output = Pipe()
    private let directory: URL

    init(_ version: String) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID())")
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            set -e; mkdir -p \(directory.path); cd \(directory.path)
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout key.pem \
              -out cert.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
            exec openssl s_server -\(version) -www -verify 1 -accept 127.0.0.1:0 -cert cert.pem -key key.pem 2>&1
            """,
        ]
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let reading = output.fileHandleForReading
        let port = try Self.text(from: reading) { $0.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)\n/)?.output.1 }
        url = try #require(URL(string: "https://localhost:\(port)/"))
        identity = .files(
            certificate: directory.appending(path: "cert.pem"), key: directory.appending(path: "key.pem"))
    }

    private static func text(from file: FileHandle, until match: (String) -> Substring?) throws -> Substring {
        var text = ""
        while true {
            if let found = match(text) { return found }
            let data = file.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
        }
    }

    /// The line that a shown certificate leaves, or that of a handshake that the client has ended.
    func nextEvent() throws -> String {
        String(try Self.text(from: output.fileHandleForReading) { $0.firstMatch(of: /depth=0|alert [a-z ]+/)?.output })
    }

    deinit {
        process.terminate()
        try? FileManager.default.removeItem(at: directory)
    }
}

@Suite(
    "When a client certificate is shown",
    .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "evaluators need OpenSSL"),
    .timeLimit(.minutes(4))
)
struct ClientCertificateOrderTests {
    private struct Verdict: TrustEvaluation {
        struct Refused: Error {}
        let isTrusted: Bool

        func evaluate(_ trust: ServerTrust) throws {
            if !isTrusted || trust.certificateChain.count != 1 || trust.host != "localhost" { throw Refused() }
        }
    }

    private func transport(_ server: AskingServer, _ verdict: Verdict, replaces: Bool) -> CurlTransport {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.tls.clientIdentity = server.identity
        guard case .files(let certificate, _, _) = server.identity else { return CurlTransport() }
        configuration.tls.trustRoots = .file(certificate)
        configuration.trustEvaluation = verdict
        configuration.trustEvaluationReplacesVerification = replaces
        return CurlTransport(configuration: configuration)
    }

    @Test(arguments: ["tls1_2", "tls1_3"], [true, false])
    func aServerThatIsRefusedIsShownNone(_ version: String, replaces: Bool) async throws {
        let server = try AskingServer(version)
        let refusing = transport(server, Verdict(isTrusted: false), replaces: replaces)
        let error = await refusing.failure(request(server.url, method: .post))
        #expect(error.code == .certificateUntrusted, "\(error)")
        #expect(error.underlying is Verdict.Refused)
        #expect(error.phase == .tls)
        #expect(error.isSafeToRetry)
        #expect(try server.nextEvent().hasPrefix("alert"))
        let trusting = transport(server, Verdict(isTrusted: true), replaces: replaces)
        #expect(try await trusting.fetch(request(server.url)).status == 200)
        #expect(try server.nextEvent() == "depth=0")
        await refusing.shutdown()
        await trusting.shutdown()
    }
}
