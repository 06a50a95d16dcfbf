import Curlew
import Testing

@testable import CurlewTool

@Suite("--version")
struct VersionTests {
    @Test("tells what libcurl can do, and what is refused for which reason")
    func version() {
        let text = VersionText.text(
            Capabilities(
                version: "8.14.1", versionNumber: 0x080E01, features: ["HTTP2", "HTTP3", "IDN"],
                protocols: ["http", "https"], tlsBackend: "GnuTLS/3.8.9", hasCustomResolver: false,
                http3Library: "ngtcp2/1.11.0 nghttp3/1.8.0", contentCodings: ["deflate", "gzip", "br"],
                internationalNameLibrary: "libidn2 2.3.8"))
        let lines = text.split(separator: "\n")
        for line in [
            "libcurl 8.14.1 with GnuTLS/3.8.9", "encodings: deflate gzip br", "HTTP/3: ngtcp2/1.11.0 nghttp3/1.8.0",
            "DNS over HTTPS: yes", "international names: libidn2 2.3.8", "public suffixes: no",
            "not available here: --unix-socket", "refused: a client identity in memory, needs libcurl with OpenSSL",
        ] {
            #expect(lines.contains { $0 == line }, "\(line)")
        }
        #expect(!text.contains("refused: HTTP/3, "))
    }

    @Test("the running libcurl has what the others build on")
    func running() {
        #expect(Capabilities.current.contentCodings.starts(with: ["deflate", "gzip"]))
        #expect(Capabilities.current.publicSuffixLibrary?.hasPrefix("libpsl ") == true)
        #expect(Capabilities.current.hasDNSOverHTTPS)
        #expect((Capabilities.current.http3Library != nil) == Capabilities.current.features.contains("HTTP3"))
    }
}
