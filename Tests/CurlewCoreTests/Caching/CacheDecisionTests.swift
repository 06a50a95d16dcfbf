import CurlewCore
import Foundation
import Testing

/// Decisions about a request for which an older response is stored.
@Suite struct CacheDecisionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let response: String
        let after: TimeInterval
        let request: [(String, String)]
        let policy: CachePolicy
        let method: HTTPMethod
        let expected: String
        var testDescription: String { "\(policy) \(method.rawValue) \(request), \(response) after \(after) s" }

        init(
            _ response: String,
            after: TimeInterval,
            _ request: [(String, String)] = [],
            _ policy: CachePolicy = .useProtocol,
            _ method: HTTPMethod = .get,
            gives expected: String
        ) {
            (self.response, self.after, self.request) = (response, after, request)
            (self.policy, self.method, self.expected) = (policy, method, expected)
        }
    }

    private static func says(_ value: String) -> [(String, String)] { [("Cache-Control", value)] }

    static let table: [Case] = [
        Case("max-age=60", after: 5, gives: "hit"),
        Case("max-age=60", after: 60, gives: "validate"),
        Case("max-age=60", after: -60, gives: "validate"),
        Case("max-age=60, no-cache", after: 5, gives: "validate"),
        Case("max-age=60", after: 5, says("no-cache"), gives: "validate"),
        Case("max-age=60", after: 5, says("max-age=0"), gives: "validate"),
        Case("max-age=60", after: 5, says("max-age=4"), gives: "validate"),
        Case("max-age=60", after: 5, says("max-age=5"), gives: "hit"),
        Case("max-age=60", after: 5, says("max-age=x"), gives: "validate"),
        Case("max-age=60", after: 5, says("min-fresh=55"), gives: "hit"),
        Case("max-age=60", after: 5, says("min-fresh=56"), gives: "validate"),
        Case("max-age=60", after: 65, says("max-stale"), gives: "stale max-stale"),
        Case("max-age=60", after: 65, says("max-stale=6"), gives: "stale max-stale"),
        Case("max-age=60", after: 65, says("max-stale=5"), gives: "validate"),
        Case("max-age=60", after: 65, says("max-stale=60 x"), gives: "validate"),
        Case("max-age=60, must-revalidate", after: 65, says("max-stale"), gives: "validate"),
        Case("max-age=60", after: 5, says("only-if-cached"), gives: "hit"),
        Case("max-age=60", after: 65, says("only-if-cached"), gives: "refuse"),
        Case("max-age=60", after: 5, says("no-store"), gives: "send bypassed"),
        Case("max-age=60", after: 5, [("Pragma", "no-cache")], gives: "validate"),
        Case("max-age=60", after: 5, [("If-Match", "\"a\"")], gives: "send bypassed"),
        Case("max-age=60, stale-while-revalidate=9", after: 65, gives: "hit and revalidate"),
        Case("max-age=60, stale-while-revalidate=9", after: 69, gives: "validate"),
        Case("max-age=60, stale-while-revalidate=9", after: 65, says("max-age=0"), gives: "validate"),
        Case("max-age=60, stale-while-revalidate=9, must-revalidate", after: 65, gives: "validate"),
        Case("max-age=60", after: 5, [], .reload, gives: "send bypassed + Cache-Control + Pragma"),
        Case("max-age=60", after: 5, says("max-age=9"), .reload, gives: "send bypassed"),
        Case("max-age=60", after: 5, [], .revalidate, gives: "validate + Cache-Control"),
        Case("max-age=60, immutable", after: 5, [], .revalidate, gives: "hit"),
        Case("max-age=60, immutable", after: 65, [], .revalidate, gives: "validate + Cache-Control"),
        Case("max-age=60", after: 65, [], .preferStored, gives: "stale policy"),
        Case("max-age=60", after: 5, [], .onlyStored, gives: "hit"),
        Case("no-cache", after: 65, [], .onlyStored, gives: "stale policy"),
        Case("max-age=60", after: 5, [], .onlyStored, .head, gives: "hit head"),
        Case("max-age=60", after: 5, [], .onlyStored, .post, gives: "refuse"),
        Case("max-age=60", after: 5, says("no-store"), .onlyStored, gives: "refuse"),
        Case("max-age=60", after: 5, [("If-Match", "\"a\"")], .onlyStored, gives: "refuse"),
        Case("max-age=60", after: 5, [("If-Unmodified-Since", "x")], .onlyStored, gives: "refuse"),
        Case("max-age=60", after: 5, [], .useProtocol, .post, gives: "send bypassed"),
        Case("max-age=60", after: 5, [], .useProtocol, .head, gives: "hit head"),
        Case("max-age=60", after: 65, [], .useProtocol, .head, gives: "send miss"),
        Case("max-age=60", after: 5, [("Range", "bytes=2-3")], gives: "hit 2..<4"),
        Case("max-age=60", after: 5, [("Range", "bytes=2-3,5-6")], gives: "send bypassed"),
        Case("max-age=60", after: 5, [("Range", "bytes=10-")], gives: "send bypassed"),
        Case("max-age=60", after: 65, [("Range", "bytes=2-3")], gives: "send bypassed"),
        Case("max-age=60", after: 5, [("If-None-Match", "\"e\"")], gives: "hit 304"),
        Case("max-age=60", after: 5, [("If-None-Match", "\"f\"")], gives: "hit"),
        Case("max-age=60", after: 65, [("If-None-Match", "\"e\"")], gives: "send bypassed"),
    ]

    @Test(arguments: table) func requestAndStoredResponseDecide(for item: Case) {
        let request = cacheRequest(item.request, method: item.method, policy: item.policy)
        let response = stored([("Cache-Control", item.response), ("ETag", "\"e\"")])
        let now = cacheTestTime.addingTimeInterval(item.after)
        let decision =
            CacheDecision(beforeLookup: request)
            ?? CacheDecision(for: request, found: storedEntry(response), mode: .private, now: now)
        #expect(Self.text(of: decision) == item.expected)
    }

    @Test func aRequestWithABodyIsNotLookedUp() throws {
        let sent = try #require(CacheDecision(beforeLookup: cacheRequest(), hasBody: true))
        #expect(Self.text(of: sent) == "send bypassed")
        let refused = try #require(CacheDecision(beforeLookup: cacheRequest(policy: .onlyStored), hasBody: true))
        #expect(Self.text(of: refused) == "refuse")
        let open = CacheDecision(beforeLookup: cacheRequest(policy: .onlyStored)).map { Self.text(of: $0) }
        #expect(open == nil)
    }

    @Test func storedResponseIsNotUsedForPOST() {
        let request = cacheRequest(method: .post, policy: .onlyStored)
        let found = storedEntry(stored([("Cache-Control", "max-age=60")]))
        let decision = CacheDecision(for: request, found: found, mode: .private, now: cacheTestTime)
        #expect(Self.text(of: decision) == "refuse")
    }

    static let empty: [(request: [(String, String)], policy: CachePolicy, expected: String)] = [
        ([], .useProtocol, "send miss"), ([], .preferStored, "send miss"), ([], .onlyStored, "refuse"),
        (says("only-if-cached"), .useProtocol, "refuse"), ([], .revalidate, "send miss + Cache-Control"),
        ([("Range", "bytes=0-")], .useProtocol, "send bypassed"),
        ([("If-None-Match", "\"a\"")], .useProtocol, "send bypassed"),
    ]

    @Test(arguments: empty.indices) func requestDecidesIfNothingIsStored(at index: Int) {
        let item = Self.empty[index]
        let request = cacheRequest(item.request, policy: item.policy)
        let decision = CacheDecision(for: request, found: nil, mode: .private, now: cacheTestTime)
        #expect(Self.text(of: decision) == item.expected)
    }

    static let failures: [(response: String, request: String, after: TimeInterval, serves: Bool)] = [
        ("max-age=1, stale-if-error=9", "", 5, true), ("max-age=1, stale-if-error=9", "", 10, false),
        ("max-age=1", "", 5, false), ("max-age=1", "stale-if-error=9", 5, true),
        ("max-age=1, stale-if-error=9", "no-cache", 5, false), ("max-age=1, stale-if-error=9", "max-age=0", 5, false),
        ("max-age=1, stale-if-error=9, must-revalidate", "", 5, false),
        ("max-age=1, stale-if-error=9, no-cache", "", 5, false),
        ("max-age=1, stale-if-error=9", "", -5, false),
    ]

    @Test(arguments: failures.indices) func staleResponseIsServedOnFailureIfPermitted(at index: Int) {
        let item = Self.failures[index]
        let request = cacheRequest(item.request.isEmpty ? [] : Self.says(item.request))
        let response = stored([("Cache-Control", item.response)])
        let now = cacheTestTime.addingTimeInterval(item.after)
        #expect(CacheDecision.allowsOnFailure(response, for: request, mode: .private, now: now) == item.serves)
    }

    @Test func aValidationAsksByTagAndDate() {
        let response = stored([("ETag", "W/\"e\""), ("Last-Modified", "then")])
        let decision = CacheDecision(
            for: cacheRequest(), found: storedEntry(response), mode: .private, now: cacheTestTime)
        guard case .validate(_, let fields) = decision else { return #expect(Bool(false)) }
        #expect(fields.map(\.name) == ["If-None-Match", "If-Modified-Since"])
        #expect(fields.map(\.value) == ["W/\"e\"", "then"])
    }

    private static func text(of decision: CacheDecision) -> String {
        switch decision {
        case .serve(_, let form, let status): text(of: status) + text(of: form)
        case .serveAndRevalidate(_, let form): "hit and revalidate" + text(of: form)
        case .validate(_, let fields): "validate" + names(fields.filter { $0.name != "If-None-Match" })
        case .send(let status, let fields): "send " + text(of: status) + names(fields)
        case .refuse: "refuse"
        }
    }

    private static func names(_ fields: [HTTPHeader]) -> String { fields.map { " + " + $0.name }.joined() }

    private static func text(of status: CacheStatus) -> String {
        switch status {
        case .hit: "hit"
        case .miss: "miss"
        case .revalidated: "revalidated"
        case .collapsed: "collapsed"
        case .stale(let reason): "stale " + reason.rawValue
        case .bypassed: "bypassed"
        }
    }

    private static func text(of form: AnswerForm) -> String {
        switch form {
        case .whole: ""
        case .head: " head"
        case .notModified: " 304"
        case .part(let range): " \(range)"
        }
    }
}
