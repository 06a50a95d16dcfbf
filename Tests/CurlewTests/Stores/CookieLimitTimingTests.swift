import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

@Suite("The time that a full cookie jar takes", .timeLimit(.minutes(4)))
struct CookieLimitTimingTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    /// A host with sixty labels below `a.test`, followed by its parent domains.
    private static let domains = (0..<60).map { number in
        ((number..<60).map { "l\($0)" } + ["a", "test"]).joined(separator: ".")
    }

    private static func store(isSecure: Bool) throws -> CookieStore {
        var store = CookieStore()
        for number in 0..<store.limits.total {
            // A cookie that is set over http is compared with the Secure cookies of all subdomains.
            let host = isSecure ? "h\(number / 100).a.test" : "h\(number / 100).b.test"
            let url = try #require(URL(string: "https://\(host)/"))
            let field = "n\(number)=1\(isSecure ? "; Secure" : "")"
            store.receive(
                try #require(CookieStore.offer([field], from: url, at: now - 1, publicSuffixes: nil)), at: now - 1)
        }
        #expect(store.count == store.limits.total)
        return store
    }

    @Test(
        "a full jar stores five thousand cookies in a bounded time, and keeps its limits",
        arguments: [("https", false), ("http", false), ("http", true)])
    func manyDomainCookies(scheme: String, isSecure: Bool) throws {
        let full = try Self.store(isSecure: isSecure)
        let url = try #require(URL(string: "\(scheme)://\(Self.domains[0])/"))
        var headers = HTTPHeaders()
        for number in 0..<5000 {
            let domain = Self.domains[number % Self.domains.count]
            headers.append(name: "Set-Cookie", value: "n\(number)=1; Domain=\(domain); Path=/p\(number)")
        }
        let fields = headers.values(for: "Set-Cookie")
        let offer = try #require(CookieStore.offer(fields, from: url, at: Self.now, publicSuffixes: nil))
        // The jar parses fields before it takes its lock, so this measures how long other threads wait for the lock. A
        // busy machine may delay most rounds; the second fastest still shows the cost of the work itself.
        var store = full
        var times: [Duration] = []
        for _ in 0..<5 {
            store = full
            let started = ContinuousClock.now
            store.receive(offer, at: Self.now)
            times.append(ContinuousClock.now - started)
        }
        #expect(times.sorted()[1] < Duration.milliseconds(500).asTestBound, "\(times)")
        let names = Set(store.all(at: Self.now).map(\.name))
        #expect(store.count == store.limits.total && names.count == store.limits.total)
        #expect(names.contains("n4999") && !names.contains("n1000"))
    }
}
