internal import Curlew
internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Cookies", .timeLimit(.minutes(4)))
struct CookieConformance {
    struct Case: CorpusCase {
        struct Step: Decodable {
            let url: String
            let set_cookie: [String]?
            let expect_cookie: String?
        }
        let id: String
        let status: String?
        let rfc6265bis_differs: Bool?
        let clock: String?
        let may_fail_response: Bool?
        let groupName: String?
        let steps: [Step]
        var group: String { groupName ?? status ?? "" }

        enum CodingKeys: String, CodingKey {
            case id, status, rfc6265bis_differs, clock, may_fail_response, steps
            case groupName = "group"
        }
    }

    /// Runs the steps with an empty store, and returns the Cookie fields that it sends, with the expected ones.
    static func run(_ item: Case) throws -> [(sent: String, expected: String)] {
        let now = item.clock.flatMap(HeaderValueConformance.instant) ?? Date(timeIntervalSince1970: 1_767_225_600)
        let suffixes = SystemPublicSuffixes()
        var store = CookieStore()
        var results: [(String, String)] = []
        for step in item.steps {
            let url = try #require(URL(string: step.url))
            if let expected = step.expect_cookie { results.append((store.header(for: url, at: now) ?? "", expected)) }
            for header in step.set_cookie ?? [] {
                guard let offer = CookieStore.offer([header], from: url, at: now, publicSuffixes: suffixes) else {
                    continue
                }
                store.receive(offer, at: now)
            }
        }
        return results
    }

    static func evaluate(_ item: Case) throws -> Verdict {
        for result in try run(item) where result.sent != result.expected {
            if item.may_fail_response == true, result.sent.isEmpty { continue }
            return .failed("sent \(result.sent.debugDescription), expected \(result.expected.debugDescription)")
        }
        return .passed
    }

    @Test("cookies follow the corpus of the HTTP State working group")
    func httpState() throws {
        try conform("cookies-http-state") { (item: Case) in
            guard item.status == "normal" else { return .notCounted }
            guard item.rfc6265bis_differs == true else { return try Self.evaluate(item) }
            guard let expected = Self.nameless[item.id] else { return .failed("not in the list of RFC 6265bis") }
            return .compare(try Self.run(item).last?.sent, expected)
        }
    }

    /// The corpus follows RFC 6265, but RFC 6265bis keeps cookies without a name. These are the fields that a client
    /// sends then.
    static let nameless = [
        "http-state-0004": "foo", "http-state-0023": "foo", "http-state-0028": "foo", "http-state-mozilla0014": "six",
        "http-state-mozilla0015": "seven", "http-state-mozilla0016": "eight",
        "http-state-mozilla0017": "eight; test=six", "http-state-name0023": "foo", "http-state-name0025": "==a=bar",
        "http-state-name0033": "aaa",
    ]

    @Test("cookies follow the web platform tests")
    func webPlatform() throws {
        let differences = [
            "wpt-value-value-013": "a line feed cannot arrive in a header; RFC 6265bis drops the whole cookie"
        ]
        try conform("cookies-wpt", expectedDifferences: differences) { (item: Case) in try Self.evaluate(item) }
    }

    @Test("cookie dates parse as in RFC 6265")
    func dates() throws {
        struct Case: CorpusCase {
            let id: String
            let input: String
            let expected: String?
            var group: String { id.contains("bsd") ? "bsd-examples" : "examples" }
        }
        try conform("cookie-dates") { (item: Case) in
            .compare(CookieDate.parse(item.input).map(HTTPDate.string), item.expected)
        }
    }

    @Test("registrable domains follow the public suffix list")
    func publicSuffixes() throws {
        struct Case: CorpusCase {
            let id: String
            let domain: String
            let registrable_domain: String?
            var group: String { "" }
        }
        let suffixes = SystemPublicSuffixes()
        try conform("public-suffix") { (item: Case) in
            .compare(suffixes.registrableDomain(of: item.domain), item.registrable_domain)
        }
    }
}
