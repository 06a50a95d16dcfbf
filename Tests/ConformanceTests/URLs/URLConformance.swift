internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("URLs", .timeLimit(.minutes(4)))
struct URLConformance {
    struct Case: CorpusCase {
        struct Expected: Decodable { let hostname: String }
        let id: String
        let scope: String
        let input: String
        let base: String?
        let expected: Expected?
        var group: String { scope }
    }

    /// Foundation's URL is RFC 3986's, not the WHATWG's, so components differ on purpose. What must hold is
    /// that no input leads to another host: an input that both take names the same one.
    @Test("an http URL names the host that a browser would see in it")
    func hosts() throws {
        let differences = [
            "url-0042": "RFC 3986: a backslash is no slash, so this is a relative path on the same host"
        ]
        try conform("url-whatwg", expectedDifferences: differences) { (item: Case) in
            guard item.scope == "http" else { return .notCounted }
            let url = URL(string: item.input, relativeTo: item.base.flatMap { URL(string: $0) })
            // What is no URL here goes nowhere; what browsers refuse is left to the resolver.
            guard let host = url?.absoluteURL.host(percentEncoded: false), Hostname.isUsable(host),
                let hostname = item.expected?.hostname
            else { return .notCounted }
            let expected = hostname.hasPrefix("[") ? String(hostname.dropFirst().dropLast()) : hostname
            // libcurl reads the short forms of IPv4 addresses as browsers do, and so do cookies and guards.
            if Hostname.canonical(host) == expected { return .passed }
            if let address = IPAddress(host), address == IPAddress(expected) { return .passed }
            return .compare(host.lowercased(), expected)
        }
    }
}
