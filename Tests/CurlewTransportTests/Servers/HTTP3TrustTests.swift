import CurlewCore
import CurlewTesting
import Foundation
import Glibc
import Testing

@testable import CurlewTransport

/// caddy with the certificates of the test CA, HTTP/3 alone: one port for each way in which a certificate can be wrong.
private final class QUICServer: Sendable {
    static let caddy = "/usr/bin/caddy"
    private let ports: [String: Int]
    private let process: Process
    private let directory: URL

    /// The port of the server that asks for a client certificate.
    static let demanding = "demanding"

    init(_ names: [String]) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let served = try RealServers.file("GOOD_CERTIFICATE").deletingLastPathComponent()
        let authority = try String(contentsOf: RealServers.file("CA_FILE"), encoding: .utf8)
            .split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        var (ports, servers): ([String: Int], [String: Any]) = ([:], [:])
        for name in names + [Self.demanding] {
            let port = try Self.freePort()
            var policy: [String: Any] = [
                "certificate_selection": ["any_tag": [name == Self.demanding ? "good" : name]]
            ]
            if name == Self.demanding {
                policy["client_authentication"] = ["mode": "require_and_verify", "trusted_ca_certs": [authority]]
            }
            servers[name] = [
                "listen": ["127.0.0.1:\(port)"], "protocols": ["h3"], "automatic_https": ["disable": true],
                "strict_sni_host": false, "tls_connection_policies": [policy],
                "routes": [["handle": [["handler": "static_response", "body": "{http.request.proto}"]]]],
            ]
            ports[name] = port
        }
        let files = names.map { name in
            [
                "certificate": served.appending(path: "\(name).pem").path,
                "key": served.appending(path: "\(name).key").path, "tags": [name],
            ] as [String: Any]
        }
        let configuration: [String: Any] = [
            "admin": ["disabled": true], "logging": ["logs": ["default": ["level": "ERROR"]]],
            "storage": ["module": "file_system", "root": directory.path],
            "apps": ["tls": ["certificates": ["load_files": files]], "http": ["servers": servers]],
        ]
        let file = directory.appending(path: "caddy.json")
        try JSONSerialization.data(withJSONObject: configuration).write(to: file)
        self.ports = ports
        process = Process()
        process.executableURL = URL(filePath: Self.caddy)
        process.arguments = ["run", "--config", file.path]
        process.environment = ["HOME": directory.path]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        process.terminate()
        try? FileManager.default.removeItem(at: directory)
    }

    func url(_ name: String) throws -> URL {
        let port = try #require(ports[name])
        return try #require(URL(string: "https://localhost:\(port)/"))
    }

    private static func freePort() throws -> Int {
        let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        try #require(isBound)
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// Docs/Security.md has the table; each row over QUIC is here.
@Suite(
    "Trust over HTTP/3", .serialized,
    .enabled(if: RealServers.areUp && Capabilities.ofLibcurl.features.contains("HTTP3")),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/caddy")),
    .timeLimit(.minutes(4))
)
struct HTTP3TrustTests {
    private static let names = ["good", "expired", "not-yet-valid", "wrong-host", "unknown-ca", "revoked"]

    private func withQUIC(_ body: (QUICServer) async throws -> Void) async throws {
        let server = try QUICServer(Self.names)
        // It does not say when it listens.
        let end = ContinuousClock.now + .seconds(10).asTestBound
        while ContinuousClock.now < end, await failure(try server.url("good")) != nil {
            try await Task.sleep(for: .milliseconds(50))
        }
        try await body(server)
    }

    private func exchange(_ url: URL, _ change: (inout TransportConfiguration) throws -> Void = { _ in })
        async throws -> Answer
    {
        try await withSecureTransport({
            $0.httpVersion = .http3
            // One address: of several libcurl may tell that one did not answer rather than that another was refused.
            $0.dns.overrides = ["localhost": ["127.0.0.1"]]
            try change(&$0)
        }) { transport in
            try await transport.fetch(request(url) { $0.options.timeouts.connect = .seconds(5).asTestBound })
        }
    }

    private func failure(_ url: URL, _ change: (inout TransportConfiguration) throws -> Void = { _ in }) async
        -> CurlewError?
    {
        do {
            _ = try await exchange(url, change)
            return nil
        } catch {
            return error as? CurlewError
        }
    }

    @Test func whoIsTrustedIsDecidedAsOverTCP() async throws {
        try await withQUIC { server in
            let answer = try await exchange(server.url("good"))
            #expect(answer.text == "HTTP/3.0")
            #expect(answer.outcome.head.version == .http3)
            // It has no other.
            #expect(answer.outcome.metrics.tlsVersion == "TLSv1.3")
            #expect(answer.outcome.metrics.tlsEstablished != nil)
            let pem = try Data(contentsOf: RealServers.file("CA_FILE"))
            #expect(try await exchange(server.url("good")) { $0.tls.trustRoots = .pem(pem) }.status == 200)
            let faults: [(String, CurlewError.Code)] = [
                ("expired", .certificateExpired), ("not-yet-valid", .certificateExpired),
                ("wrong-host", .certificateHostMismatch), ("unknown-ca", .certificateUntrusted),
            ]
            for (name, code) in faults {
                let error = try #require(await failure(server.url(name)), "\(name)")
                #expect(error.code == code, "\(name): \(error)")
                #expect(error.phase == .tls)
                #expect(error.isSafeToRetry)
            }
            let error = try #require(await failure(server.url("good")) { $0.tls.trustRoots = .system })
            #expect(error.code == .certificateUntrusted, "\(error)")
        }
    }

    @Test func listsPinsAndStaplesDecide() async throws {
        try await withQUIC { server in
            let list = try RealServers.file("CRL_FILE")
            #expect(try await exchange(server.url("revoked")).status == 200)
            let revoked = await failure(try server.url("revoked")) { $0.tls.certificateRevocationList = list }
            #expect(revoked?.code == .certificateRevoked, "\(String(describing: revoked))")
            let pin = "sha256//" + Data(count: 32).base64EncodedString()
            let pinned = await failure(try server.url("good")) { $0.tls.publicKeyPins = [pin] }
            #expect(pinned?.code == .certificateUntrusted && pinned?.native?.number == 90)
            let unstapled = await failure(try server.url("good")) { $0.tls.requiresOCSPStapling = true }
            #expect(unstapled?.code == .certificateRevoked)
        }
    }

    @Test func aClientCertificateIsShownFromFiles() async throws {
        try await withQUIC { server in
            let certificate = try RealServers.file("CLIENT_CERTIFICATE")
            let key = try RealServers.file("CLIENT_KEY")
            let url = try server.url(QUICServer.demanding)
            let known = try await exchange(url) { $0.tls.clientIdentity = .files(certificate: certificate, key: key) }
            #expect(known.status == 200)
            // What the server said is not told: that the connection drains.
            #expect(await failure(url) != nil)
        }
    }

    @Test(.enabled(if: RealServers.usesGnuTLS && !Capabilities.ofLibcurl.isAtLeast(8, 18, 0)))
    func whatIsNotCheckedThereIsUnsupported() async throws {
        try await withQUIC { server in
            let loose = await failure(try server.url("unknown-ca")) {
                $0.tls.certificateVerification = .noHostnameVerification
            }
            #expect(loose?.code == .unsupported)
            let pinned = await failure(try server.url("unknown-ca")) {
                $0.tls.certificateVerification = .none
                $0.tls.publicKeyPins = ["sha256//" + Data(count: 32).base64EncodedString()]
            }
            #expect(pinned?.code == .unsupported)
            // Nothing is to be checked, and nothing is.
            #expect(
                try await exchange(server.url("unknown-ca")) { $0.tls.certificateVerification = .none }.status == 200)
        }
    }
}
