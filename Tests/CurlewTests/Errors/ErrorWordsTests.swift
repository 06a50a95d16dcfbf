import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// The texts of failures that users will meet, over a real connection.
@Suite("Messages of errors", .timeLimit(.minutes(4)))
struct ErrorWordsTests {
    private let server: TestServer

    init() throws { server = try TestServer() }

    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        change(&configuration)
        return Session(configuration: configuration)
    }

    @Test("an error for a refused status shows the method, URL, reason phrase and beginning of the body")
    func status() async throws {
        server.route("/gone") { _ in .json(["why": "moved away", "token": "S3CRET"], status: 410) }
        let url = server.url("/gone?key=S3CRET")
        for session in [session(), session { $0.maximumBodySize = 1 << 20 }] {
            let error = try await requireFailure { try await session.request(url, method: .delete).data() }
            #expect(error.reason.hasPrefix("Response status code was unacceptable: 410 Gone, for DELETE. The body: {"))
            #expect(error.reason.contains("moved away"))
            #expect(error.description.contains("/gone?key=_"))
            #expect(error.recoverySuggestion == "Check the URL's path.")
            #expect(!error.debugDescription.contains("S3CRET") && !error.reason.contains("S3CRET"))
        }
        let validated = try await requireFailure { try await session().request(url).validate().data() }
        #expect(validated.reason.contains("410 Gone, for GET. The body: {"))
        let streamed = try await requireFailure { for try await _ in session().streamRequest(url).chunks {} }
        #expect(streamed.reason.contains("410 Gone, for GET"), "\(streamed)")
    }

    @Test("a decoding error for an HTML page shows its media type and size")
    func noJSON() async throws {
        server.route("/page") { _ in .text("<html><body>Log in</body></html>", type: "text/html") }
        server.route("/cut") { _ in .text(#"{"name": "Ada", "password": "S3CRET"#, type: "application/json") }
        server.route("/other") { _ in .json(["title": "Countess"]) }
        struct Named: Decodable, Sendable { var name: String }
        let page = try await requireFailure { try await session().request(server.url("/page")).decode(Named.self) }
        #expect(page.reason.contains("The body (text/html): 32 bytes of text/html"), "\(page)")
        let cut = try await requireFailure { try await session().request(server.url("/cut")).decode(Named.self) }
        #expect(cut.reason.contains("Ada") && !cut.debugDescription.contains("S3CRET"), "\(cut)")
        let other = try await requireFailure { try await session().request(server.url("/other")).decode(Named.self) }
        #expect(!other.reason.contains("Countess"), "JSON that fits no type is described by the decoder")
    }

    @Test("an error for an unreadable upload names the file")
    func upload() async throws {
        let file = URL(filePath: "/nonexistent/report.pdf")
        let error = try await requireFailure { try await session().upload(file, to: server.url("/post")).data() }
        #expect(error.code == .fileUnreadable && error.reason.contains("/nonexistent/report.pdf"), "\(error)")
    }

    @Test("an error for an invalid header field names the field without its value")
    func field() async throws {
        let error = try await requireFailure {
            try await session().request(server.url("/get"), headers: ["X Bad": "S3CRET"]).data()
        }
        #expect(error.reason.contains("\"X\"") && !"\(error)".contains("S3CRET"), "\(error)")
    }

    @Test("a connection error for a Unix socket names the path, not a host and a port")
    func unixSocket() async throws {
        let session = session { $0.unixSocketPath = "/nonexistent/daemon.sock" }
        let error = try await requireFailure { try await session.request("http://localhost/info").data() }
        #expect(error.code == .connectFailed && error.reason.contains("/nonexistent/daemon.sock"), "\(error)")
        #expect(!error.reason.contains("port 80"))
        #expect(error.recoverySuggestion?.contains("socket") == true)
    }

    @Test("the message of a timeout names the timeout and its duration")
    func timeouts() async throws {
        server.route("/never") { _ in .hanging }
        let first = try await requireFailure {
            try await session().request(server.url("/never")).timeouts { $0.firstByte = .milliseconds(50) }.data()
        }
        #expect(first.reason == "no response began within 0.05 seconds, the first-byte timeout", "\(first)")
        let total = try await requireFailure {
            try await session().request(server.url("/never")).timeouts { $0.total = .milliseconds(50) }.data()
        }
        #expect(total.reason == "the request did not end within 0.05 seconds, the total timeout", "\(total)")
    }

    @Test(
        "an error for a URL without a scheme suggests the URL with https",
        arguments: [
            ("example.com/a?k=S3CRET", "https://example.com/a?k=_"), ("//example.com/a", "https://example.com/a"),
            ("localhost:8080/a", "https://localhost:8080/a"),
        ])
    func scheme(text: String, suggested: String) async throws {
        let error = try await requireFailure { try await session().request(text).data() }
        #expect(error.code == .invalidURL)
        #expect(error.reason.contains("write \(suggested)"), "\(error)")
        #expect(!error.debugDescription.contains("S3CRET"))
    }

    @Test(
        "an error for a URL with another scheme does not suggest https",
        arguments: ["mailto:a@b.c", "ftp://x.y/z", "u:S3CRET@x.y/z"])
    func noScheme(text: String) async throws {
        let error = try await requireFailure { try await session().request(text).data() }
        #expect(error.code == .invalidURL && !error.debugDescription.contains("write https"), "\(error)")
        #expect(!error.debugDescription.contains("S3CRET"))
    }

    @Test("errors for http to a TLS port and for an unanswered TLS handshake suggest the cause")
    func mixedUp() async throws {
        let silent = try await requireFailure {
            try await session().request("https://127.0.0.1:\(server.port)/").timeouts {
                $0.connect = .milliseconds(200)
            }
            .data()
        }
        #expect(silent.code == .connectTimedOut && silent.phase == .tls, "\(silent)")
        #expect(silent.recoverySuggestion?.contains("TLS") == true)

        var configuration = TestServer.Configuration()
        configuration.tls = TestServer.TLS()
        let secure = try TestServer(configuration)
        let plain = try await requireFailure { try await session().request("http://127.0.0.1:\(secure.port)/").data() }
        #expect(plain.recoverySuggestion?.contains("https://") == true, "\(plain)")
    }

    @Test("an unknown list of ciphers is an error of the configuration, not of TLS")
    func ciphers() async throws {
        guard !Capabilities.current.usesTLS("GnuTLS") else { return }
        let session = session { $0.tls.cipherList = "NO-SUCH-CIPHER" }
        let error = try await requireFailure { try await session.request("https://127.0.0.1:\(server.port)/").data() }
        #expect(error.code == .requestCreationFailed && error.reason.contains("NO-SUCH-CIPHER"), "\(error)")
        #expect(error.recoverySuggestion?.contains("ciphers") == true && !error.isTLS)
    }

    @Test("a pinning failure suggests pinning the new key, and shows that key with OpenSSL")
    func pins() async throws {
        var configuration = TestServer.Configuration()
        configuration.tls = TestServer.TLS()
        let secure = try TestServer(configuration)
        let wrong = "sha256//" + Data(count: 32).base64EncodedString()
        let session = session {
            $0.tls.trustRoots = secure.trustRoots
            $0.tls.publicKeyPins = [wrong]
        }
        let error = try await requireFailure { try await session.request(secure.url("/get")).data() }
        #expect(error.code == .certificateUntrusted)
        #expect(error.recoverySuggestion?.contains("pin the new one") == true, "\(error)")
        guard case .pem(let pem) = secure.trustRoots, Capabilities.current.usesOpenSSL else { return }
        let pin = try #require(Certificate.all(in: pem).first?.publicKey.pin)
        #expect(error.reason.contains(pin), "\(error)")
    }

    @Test("an error for an existing destination suggests removePreviousFile")
    func destination() async throws {
        server.route("/file") { _ in .text("new") }
        let folder = try ScratchDirectory()
        let place = folder.url.appending(path: "kept.txt")
        try Data("old".utf8).write(to: place)
        let error = try await requireFailure {
            try await session().download(server.url("/file"), to: { _, _ in (place, []) }).file()
        }
        #expect(error.code == .destinationExists && error.reason.contains("kept.txt"), "\(error)")
        #expect(!error.reason.contains(".removePreviousFile"))
        #expect(error.recoverySuggestion?.contains(".removePreviousFile") == true)
    }

    @Test("the description of metrics lists their phases")
    func metrics() async throws {
        let response = await session().request(server.url("/get")).response()
        let text = "\(response.metrics as Any)"
        #expect(text.contains(" ms: ") && text.contains("wait ") && text.contains("HTTP/1.1"), "\(text)")
    }
}
