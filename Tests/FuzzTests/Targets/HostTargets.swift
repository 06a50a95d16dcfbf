#if !FUZZING
@testable internal import CurlewCore
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    static let hosts = [
        FuzzTarget("ip-address") { input throws(BrokenProperty) in
            // The system's function ends at a NUL and does not parse zones.
            let text = input.text
            guard !text.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "%") }) else { return }
            try require(IPAddress(text)?.bytes, equals: systemAddress(text), "the system says the same of '\(text)'")
        },
        FuzzTarget("no-proxy") { input throws(BrokenProperty) in
            let (host, rest) = input.headAndRest
            let list = String(decoding: rest, as: UTF8.self)
            let contained = ProxyExclusions(list).contains(host)
            if list == "*" { try require(contained, "a star takes in every host") }
            if !list.contains(where: { $0.isASCII && !$0.isWhitespace && $0 != "," }), list.allSatisfy(\.isASCII) {
                try require(!contained, "an empty list takes in none")
            }
        },
        FuzzTarget("host-names") { input throws(BrokenProperty) in
            let text = input.text
            guard let host = Hostname.canonical(text) else { return }
            try require(!host.isEmpty, "a host name is not empty")
            try require(Hostname.matches(host, domain: host), "a host is in its own domain")
            let names = Hostname.withParents(host)
            try require(names.first?.isSameBytes(as: host) ?? false, "a host stands before its parents")
            try require(names.count <= 255, "a host has as many parents as a name can have")
            for name in names { try require(Hostname.matches(host, domain: name), "a host is in \(name)") }
        },
        FuzzTarget("redirect-location") { input throws(BrokenProperty) in
            guard let base = URL(string: "http://user:pw@a.example:8080/dir/file?q#f") else { return }
            guard let url = RedirectLocation.resolve(input.text, against: base) else { return }
            let text = url.absoluteString
            try require(["http", "https"].contains(url.scheme?.lowercased()), "a scheme that is spoken: \(text)")
            guard let host = url.host(percentEncoded: false) else { throw BrokenProperty(description: "a host") }
            try require(Hostname.isUsable(host), "a usable host: \(text)")
            try require(text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "a URL without blanks: \(text)")
            if !RedirectLocation.isSameOrigin(base, url) {
                try require(url.user == nil && url.password == nil, "no credentials for another origin: \(text)")
            }
            try require(URL(string: text)?.host() == url.host(), "the same host when it is read again: \(text)")
            let redacted = Redaction.redacted(url).absoluteString
            try require(!redacted.contains(":pw@"), "no password is shown")
        },
    ]

    private static func systemAddress(_ text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
