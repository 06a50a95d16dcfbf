import Foundation
import Testing

@testable import CurlewCore

@Suite("Host names")
struct HostnameTests {
    @Test(
        "an empty host and a host with a delimiter are not usable",
        arguments: ["", "a b", "a/b", "a\nb", "a%41", "a:b", "a@b", "a\\b", "[::1", "a|b", "\u{7F}"])
    func unusable(host: String) {
        #expect(!Hostname.isUsable(host))
    }

    @Test(
        "names and addresses are usable", arguments: ["a", "example.org", "127.0.0.1", "::1", "fe80::1", "xn--a", "ä"])
    func usable(host: String) {
        #expect(Hostname.isUsable(host))
    }

    @Test(
        "an IPv6 address gets brackets, once",
        arguments: [("a.test", "a.test"), ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("[::1]", "[::1]"), ("", "")])
    func brackets(host: String, expected: String) {
        #expect(Hostname.bracketed(host) == expected)
        #expect(Hostname.withoutBrackets(expected) == Hostname.withoutBrackets(host))
    }

    @Test(
        "an address with a zone is read only if zones are allowed",
        arguments: [("fe80::1%eth0", true), ("fe80::1%", true), ("fe80::1", false), ("127.0.0.1", false)])
    func zones(text: String, hasZone: Bool) {
        #expect((IPAddress(text, allowsZone: false) == nil) == hasZone)
        #expect(IPAddress(text) != nil)
    }

    /// The quick check may pass only URLs that the thorough check accepts.
    @Test(
        "a URL that passes the quick check has a usable host and no credentials",
        arguments: [
            "http://a/", "http://example.org:8080/a/b?c=d:e", "https://127.0.0.1/x#y", "http://a.b/c?d=%20",
            "http://a%2Fb/", "http://u@h/", "http://u:80@h/", "https://u.v-w:@h:80/", "http://h:80%2F@i/", "http:///",
            "http://a%0Ab/", "http://u:p@h/", "http://u@v@h/", "http://[::1]:80/", "http://a:b:80/", "http://a|b/",
            "http://a^b/",
            "http://a\\b/",
        ])
    func quickLook(text: String) {
        guard let url = URL(string: text), let host = url.host(percentEncoded: false) else { return }
        guard URLScan(url.absoluteString).hasPlainHost else { return }
        #expect(Hostname.isUsable(host) && url.user == nil && url.password == nil)
    }

    @Test(
        "all spellings of a host have the same canonical name",
        arguments: [
            ("A.Test", "a.test"), ("a.test.", "a.test"), ("bücher.test.", "xn--bcher-kva.test"), ("127.1", "127.0.0.1"),
            ("0x7f.0.1", "127.0.0.1"), ("0177.0.0.01", "127.0.0.1"), ("2130706433", "127.0.0.1"),
            ("1.2.3.4.", "1.2.3.4"),
            ("0x7F.1.", "127.0.0.1"), ("0", "0.0.0.0"), ("1.256", "1.0.1.0"), ("4294967295", "255.255.255.255"),
            ("4294967296", "4294967296"), ("1.2.3.256", "1.2.3.256"), ("1.2.3.4.5", "1.2.3.4.5"), ("08.1", "08.1"),
            ("1..2", "1..2"), ("a.1", "a.1"), ("1.a", "1.a"), ("::1", "::1"), ("1e2", "1e2"), ("+1.2", "+1.2"),
        ])
    func canonical(host: String, name: String) {
        #expect(Hostname.canonical(host) == name)
    }

    @Test("an empty host has no canonical name", arguments: ["", "."])
    func noName(host: String) {
        #expect(Hostname.canonical(host) == nil)
    }
}
