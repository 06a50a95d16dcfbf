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

    /// Foundation parses URLs by RFC 3986 and browsers by the WHATWG's standard, so components differ on purpose. But
    /// an input that both accept must name the same host, so that no input leads a request to another server.
    @Test("an http URL names the same host as in a browser")
    func hosts() throws {
        let differences = [
            "url-0042": "RFC 3986: a backslash is no slash, so this is a relative path on the same host"
        ]
        try conform("url-whatwg", expectedDifferences: differences) { (item: Case) in
            guard item.scope == "http" else { return .notCounted }
            let url = URL(string: item.input, relativeTo: item.base.flatMap { URL(string: $0) })
            // An input that is not a URL here causes no request. A host that browsers refuse is left to the resolver.
            guard let host = url?.absoluteURL.host(percentEncoded: false), Hostname.isUsable(host),
                let hostname = item.expected?.hostname
            else { return .notCounted }
            let expected = hostname.hasPrefix("[") ? String(hostname.dropFirst().dropLast()) : hostname
            // libcurl, cookies and address guards read the short forms of IPv4 addresses as browsers do.
            if Hostname.canonical(host) == expected { return .passed }
            if let address = IPAddress(host), address == IPAddress(expected) { return .passed }
            return .compare(host.lowercased(), expected)
        }
    }
}
