import Curlew
import CurlewCore
import Foundation
import Testing

/// An `openssl s_server` on a port that the system chooses, with an untrusted certificate.
private final class SelfSignedServer {
    let url: URL
    let certificate: Certificate
    private let process = Process()
    private let directory: String

    init() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("curlew-\(UUID())").path
        self.directory = directory
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            set -e; mkdir -p \(directory); cd \(directory)
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout key.pem \
              -out cert.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
            exec openssl s_server -www -accept 127.0.0.1:0 -cert cert.pem -key key.pem 2>&1
            """,
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        var text = ""
        var port: Int?
        while port == nil {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
            port = text.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)\n/).flatMap { Int($0.output.1) }
        }
        url = try #require(URL(string: "https://localhost:\(port ?? 0)/"))
        certificate = try #require(
            Certificate.all(in: Data(contentsOf: URL(filePath: "\(directory)/cert.pem"))).first
        )
    }

    deinit {
        process.terminate()
        try? FileManager.default.removeItem(atPath: directory)
    }
}

@Suite(.timeLimit(.minutes(4)))
struct ServerTrustSessionTests {
    private func status(_ server: SelfSignedServer, _ manager: ServerTrustManager?) async -> String {
        let session = Session(
            configuration: SessionConfiguration { $0.httpVersion = .http1_1 },
            serverTrustManager: manager
        )
        let response = await session.request(server.url).response()
        await session.invalidate()
        return response.error?.code.rawValue ?? "\(response.head?.status ?? 0)"
    }

    @Test(.enabled(if: Capabilities.current.usesOpenSSL)) func evaluatorsReplaceTheVerdictOfLibcurl() async throws {
        let server = try SelfSignedServer()
        func manager(_ evaluator: any ServerTrustEvaluating) -> ServerTrustManager {
            ServerTrustManager(evaluators: ["localhost": evaluator])
        }
        #expect(await status(server, nil) == "certificateUntrusted")
        #expect(await status(server, manager(DefaultTrustEvaluator())) == "certificateUntrusted")
        #expect(await status(server, manager(DisabledTrustEvaluator())) == "200")
        let pinned = PinnedCertificatesTrustEvaluator(
            certificates: [server.certificate],
            acceptSelfSignedCertificates: true
        )
        #expect(await status(server, manager(pinned)) == "200")
        let key = PublicKeysTrustEvaluator(keys: [server.certificate.publicKey], performDefaultValidation: false)
        #expect(await status(server, manager(key)) == "200")
        let other = PublicKeysTrustEvaluator(pins: ["sha256//" + Data(count: 32).base64EncodedString()])
        #expect(await status(server, manager(other)) == "certificateUntrusted")
    }

    @Test(.enabled(if: Capabilities.current.usesOpenSSL)) func hostsWithoutEvaluatorAreStillVerified() async throws {
        let server = try SelfSignedServer()
        #expect(await status(server, ServerTrustManager(evaluators: [:])) == "certificateUntrusted")
        let lenient = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        #expect(await status(server, lenient) == "certificateUntrusted")
    }
}
