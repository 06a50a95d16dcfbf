import Foundation
import Testing

@testable import CurlewCore

@Suite("URL scans")
struct URLScanTests {
    @Test(
        "a host is plain only as a name or an IPv4 address, with a scheme and an optional port",
        arguments: [
            ("http://a/", true), ("HTTPS://A-1.test:8080?q=u@v", true), ("http://127.0.0.1", true), ("ftp://a", true),
            ("http://a:/", true), ("http:///a", true), ("http://a_b/", false), ("http://u@h/", false),
            ("http://h:80@e/", false), ("http://h%2e/", false), ("http://[::1]/", false), ("http://h:8a/", false),
            ("http://h:80:80/", false), ("http://h\\@e/", false), ("http://ä/", false), ("a+b://h/", false),
            ("http:/h", false), ("//h/", false), ("h", false), ("", false),
        ])
    func plainHosts(text: String, isPlain: Bool) {
        #expect(URLScan(text).hasPlainHost == isPlain)
    }

    @Test(
        "credentials, brackets and the port are not part of the host",
        arguments: [
            ("https://u:p@h.test:8443/a@b:1", "h.test", 8443), ("http://u@v@h?@e", "h", 80),
            ("http://h:80@e:81/", "e", 81), ("http://[fe80::1%25lo]:080/", "fe80::1%25lo", 80),
            ("https://u:[x]@[::1]", "::1", 443), ("https://h:#@e", "h", 443),
        ])
    func hosts(text: String, host: String, port: Int) throws {
        let parts = try #require(URLScan(text).parts)
        let bytes = Array(text.utf8)
        #expect(String(decoding: bytes[parts.host], as: UTF8.self) == host)
        #expect(parts.port == port && parts.isTLS == text.hasPrefix("https"))
    }

    @Test(
        "malformed URLs and other schemes than http and https have no parts",
        arguments: [
            "", "h", "/a", "ftp://h/", "htt://h/", "httpx://h/", "http:/h", "http://", "http:///a", "http://u@/",
            "http://h:65536/", "http://h:0000080/", "http://h:8a/", "http://h:-1/", "http://[::1/", "http://[::1]a/",
            "http://[]/", "http://h\\a/", "http://h /", "http://h/a b", "http://h/\u{7F}", "http://h/\r\n", "http://ä/",
            "http://h/ä", "http://\(String(repeating: "h", count: URLScan.longestHost + 1))/",
        ])
    func unacceptable(text: String) {
        #expect(URLScan(text).parts == nil)
    }

    @Test(
        "a dot segment of the path is found, escaped or not",
        arguments: [
            ("http://h/.", true), ("http://h/a/../b", true), ("http://h/%2e", true), ("http://h/a%2e/b.c", false),
            ("http://h?/../", false), ("http://h/a#/../", false), ("http://h.", false), ("x:y://c/../d", true),
        ])
    func dotSegments(text: String, isSeen: Bool) {
        #expect(URLScan(text).mayHaveDotSegments == isSeen)
    }
}
