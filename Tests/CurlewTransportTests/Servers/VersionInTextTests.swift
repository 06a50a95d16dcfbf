import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite(
    "A version of HTTP that TLS has not chosen",
    .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "GnuTLS does not tell what ALPN has chosen"),
    .timeLimit(.minutes(4))
)
struct VersionInTextTests {
    private func failure(_ line: String, _ options: String) async throws -> CurlewError? {
        let server = try OpenSSLServer(
            "tls1_3", options, mode: .wholeResponses,
            preparation: "printf '\(line) \\r\\nContent-Length: 5\\r\\n\\r\\nhello' > x")
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.tls.trustRoots = .file(server.certificate)
        let transport = CurlTransport(configuration: configuration)
        var failure: CurlewError?
        do throws(CurlewError) {
            let answer = try await transport.fetch(request(server.url.appending(path: "x")))
            #expect(answer.text == "hello")
        } catch {
            failure = error
        }
        await transport.shutdown()
        return failure
    }

    @Test(arguments: ["HTTP/2 200", "HTTP/3 200"], ["", "-alpn http/1.1"])
    func `is a protocol violation`(_ line: String, _ options: String) async throws {
        let failure = try await failure(line, options)
        let error = try #require(failure)
        #expect(error.code == .protocolViolation, "\(error)")
        // A libcurl without HTTP/3 rejects the version's name itself, and from 8.12 on libcurl rejects HTTP/2, too.
        let isForLibcurl = line.hasPrefix("HTTP/3") || Capabilities.ofLibcurl.isAtLeast(8, 12, 0)
        #expect(isForLibcurl || error.reason.contains("an HTTP/1 response says"), "\(error)")
    }

    @Test(arguments: ["HTTP/1.1 200", "HTTP/1.0 200"], ["", "-alpn http/1.1"])
    func `is none if it is one of HTTP/1`(_ line: String, _ options: String) async throws {
        let error = try await failure(line, options)
        #expect(error == nil)
    }
}
