import Foundation
import Testing

@testable import CurlewCore

@Suite("Alternative services of servers")
struct AlternativeServiceListTests {
    private let origin = SecureOrigin(host: "A.example", port: 443)
    private let start = Date(timeIntervalSince1970: 1_000_000)

    private func list(_ value: String, _ more: [String] = [], age: String? = nil) -> AlternativeServiceList {
        var list = AlternativeServiceList()
        receive(value, more, age: age, into: &list, at: start)
        return list
    }

    @discardableResult
    private func receive(
        _ value: String, _ more: [String] = [], age: String? = nil, into list: inout AlternativeServiceList,
        at now: Date
    ) -> Bool {
        var headers = HTTPHeaders()
        for value in [value] + more { headers.append(name: "Alt-Svc", value: value) }
        if let age { headers.append(name: "Age", value: age) }
        return list.receive(headers, from: origin, at: now)
    }

    private func route(_ list: inout AlternativeServiceList, after seconds: TimeInterval = 0) -> AlternativeRoute? {
        list.route(to: origin, allowing: .anyHost, at: start + seconds)
    }

    @Test func oneRequestTriesTheAlternativeForAll() throws {
        var list = list(#"h3=":443""#)
        let first = try #require(route(&list))
        #expect(first == AlternativeRoute(origin: origin, port: 443, mode: .raced))
        #expect(route(&list) == nil)
        list.ended(first, .worked, at: start)
        #expect(route(&list) == AlternativeRoute(origin: origin, port: 443, mode: .alone))
        // The service belongs to one origin only.
        #expect(list.route(to: SecureOrigin(host: "b.example", port: 443), allowing: .anyHost, at: start) == nil)
        #expect(list.route(to: SecureOrigin(host: "a.example", port: 444), allowing: .anyHost, at: start) == nil)
    }

    @Test func undecidedTrialIsRepeated() throws {
        var list = list(#"h3=":443""#)
        let first = try #require(route(&list))
        list.ended(first, .undecided, at: start)
        #expect(route(&list)?.mode == .raced)
        // The end of this trial is never reported, so another one starts after `trialPatience`.
        #expect(route(&list, after: AlternativeServiceList.trialPatience - 1) == nil)
        #expect(route(&list, after: AlternativeServiceList.trialPatience)?.mode == .raced)
    }

    @Test func requestThatMayNotTryUsesProvenRoute() throws {
        var list = list(#"h3=":443""#)
        let proven = { (list: inout AlternativeServiceList, seconds: TimeInterval) in
            list.route(to: origin, allowing: .anyHost, mayTry: false, at: start + seconds)
        }
        #expect(proven(&list, 0) == nil)
        // The call above did not begin a trial, so this one does.
        let first = try #require(route(&list))
        #expect(proven(&list, 0) == nil)
        list.ended(first, .worked, at: start)
        #expect(proven(&list, 0) == AlternativeRoute(origin: origin, port: 443, mode: .alone))
        list.ended(first, .failed, at: start)
        #expect(proven(&list, 0) == nil && proven(&list, AlternativeServiceList.shortestAvoidance) == nil)
        #expect(route(&list, after: AlternativeServiceList.shortestAvoidance)?.mode == .raced)
    }

    @Test(
        arguments: [
            (.sameEndpoint, 443, nil), (.sameHost, 444, nil), (.anyHost, 1, "b.example"),
        ] as [(AlternativeFreedom, Int, String?)])
    func firstPermittedAlternativeIsUsed(_ freedom: AlternativeFreedom, _ port: Int, _ host: String?) {
        var list = list(#"h3="b.example:1", h3=":444", h3=":443""#)
        let route = list.route(to: origin, allowing: freedom, at: start)
        #expect(route?.port == port && route?.host == host)
    }

    @Test func forbiddenAlternativeIsNotTried() {
        var list = list(#"h3=":444""#)
        #expect(list.route(to: origin, allowing: .sameEndpoint, at: start) == nil)
        #expect(route(&list)?.port == 444)
    }

    @Test func brokenAlternativeIsAvoidedEverLonger() throws {
        var list = list(#"h3=":443"; ma=99999999"#)
        var now: TimeInterval = 0
        for avoidance in [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 86_400, 86_400] as [TimeInterval] {
            let tried = try #require(route(&list, after: now))
            #expect(tried.mode == .raced)
            list.ended(tried, .failed, at: start + now)
            // Another exchange over the service fails at the same time. It must not lengthen the avoidance.
            list.ended(tried, .failed, at: start + now)
            #expect(route(&list, after: now + avoidance - 1) == nil)
            #expect(!list.hasAlternative(for: origin, at: start + now + avoidance - 1))
            now += avoidance
        }
        let tried = try #require(route(&list, after: now))
        list.ended(tried, .worked, at: start + now)
        list.ended(tried, .failed, at: start + now)
        #expect(route(&list, after: now + 299) == nil)
        #expect(route(&list, after: now + 300) != nil)
    }

    @Test func nextAlternativeIsUsedAfterBrokenOne() throws {
        var list = list(#"h3=":443", h3=":8443""#)
        let first = try #require(route(&list))
        list.ended(first, .failed, at: start)
        #expect(route(&list) == AlternativeRoute(origin: origin, port: 8443, mode: .alone))
    }

    @Test func repeatedAltSvcKeepsKnownRoutes() throws {
        var list = list(#"h3=":443"; ma=100"#)
        let first = try #require(route(&list))
        list.ended(first, .worked, at: start)
        #expect(!receive(#"h3=":443"; ma=100"#, into: &list, at: start + 59))
        #expect(receive(#"h3=":443"; ma=100"#, into: &list, at: start + 60))
        #expect(route(&list, after: 159)?.mode == .alone)
        #expect(route(&list, after: 160) == nil)
    }

    @Test func newAltSvcFieldReplacesTheOldOne() {
        var list = list(#"h3=":443""#)
        receive(#"h3=":444""#, into: &list, at: start)
        #expect(route(&list)?.port == 444)
        receive(#"h2=":443""#, into: &list, at: start)
        #expect(list.isEmpty)
        receive(#"h3=":443""#, into: &list, at: start)
        #expect(receive("clear", into: &list, at: start))
        #expect(list.isEmpty)
        // A malformed field changes nothing.
        receive(#"h3=":443""#, into: &list, at: start)
        #expect(!receive("h3", into: &list, at: start))
        #expect(route(&list) != nil)
    }

    @Test func severalAltSvcFieldsAreJoined() {
        var list = list(#"h2=":443""#, [#"h3=":7""#])
        #expect(route(&list)?.port == 7)
        list = self.list(#"h3=":7""#, ["clear"])
        #expect(list.isEmpty)
    }

    @Test func ageReducesLifetimeOfAlternative() {
        var list = list(#"h3=":443"; ma=100"#, age: "40")
        #expect(route(&list, after: 60) == nil)
        list = self.list(#"h3=":443"; ma=100"#, age: "40")
        #expect(route(&list, after: 59) != nil)
        #expect(self.list(#"h3=":443"; ma=100"#, age: "100").isEmpty)
        #expect(self.list(#"h3=":443"; ma=0"#).isEmpty)
    }

    @Test func anotherHostNeedsFullVerification() {
        var list = list(#"h3="b.example:443", h3="a.example:444""#)
        #expect(list.route(to: origin, allowing: .sameHost, at: start)?.port == 444)
        #expect(list.route(to: origin, allowing: .anyHost, at: start)?.host == "b.example")
    }

    @Test func networkChangeKeepsPersistentAlternatives() throws {
        var list = list(#"h3=":443"; persist=1, h3=":444""#)
        let first = try #require(route(&list))
        list.ended(first, .failed, at: start)
        list.networkChanged()
        #expect(route(&list) == AlternativeRoute(origin: origin, port: 443, mode: .raced))
        // The server repeats the field, which restores the second service.
        #expect(receive(#"h3=":443"; persist=1, h3=":444""#, into: &list, at: start + 1))
        #expect(list.entries[origin]?.services.count == 2)
        list = self.list(#"h3=":443""#)
        list.networkChanged()
        #expect(list.isEmpty)
    }

    @Test func misdirectedAlternativeIsForgotten() throws {
        var list = list(#"h3=":444", h3=":445""#)
        let first = try #require(route(&list))
        list.ended(first, .misdirected, at: start)
        #expect(route(&list)?.port == 445)
        // The result arrives after its service was removed.
        list.ended(first, .worked, at: start)
        #expect(list.entries[origin]?.services.map(\.port) == [445])
    }

    @Test func numberOfAlternativesIsBounded() {
        var list = AlternativeServiceList(limit: 3)
        for number in 1...10 {
            let headers: HTTPHeaders = ["Alt-Svc": "h3=\":443\"; ma=\(number)"]
            _ = list.receive(headers, from: SecureOrigin(host: "h\(number)", port: 443), at: start)
        }
        #expect(Set(list.entries.keys.map(\.host)) == ["h8", "h9", "h10"])
        let many = (1...16).map { "h3=\":\($0)\"" }.joined(separator: ",")
        #expect(self.list(many).entries[origin]?.services.count == AlternativeServiceList.maximumServices)
    }

    @Test func storedAlternativeIsUnprovenAfterReading() throws {
        var list = list(#"h3=":443"; persist=1, h3="[::1]:8""#)
        let first = try #require(route(&list))
        list.ended(first, .worked, at: start)
        var read = try JSONDecoder().decode(AlternativeServiceList.self, from: try JSONEncoder().encode(list))
        #expect(read.entries[origin]?.services.map(\.host) == [nil, "::1"])
        #expect(read.entries[origin]?.services.map(\.persists) == [true, false])
        #expect(route(&read)?.mode == .raced)
    }

    @Test(arguments: [
        (AlternativeRoute(origin: SecureOrigin(host: "a", port: 1), port: 1, mode: .alone), "a:1", false),
        (AlternativeRoute(origin: SecureOrigin(host: "::1", port: 1), port: 2, mode: .alone), "[::1]:2", true),
        (AlternativeRoute(origin: SecureOrigin(host: "a", port: 1), host: "b", port: 1, mode: .alone), "b:1", true),
    ])
    func routeHasItsAuthority(_ route: AlternativeRoute, _ authority: String, _ isElsewhere: Bool) {
        #expect(route.authority == authority && route.isElsewhere == isElsewhere)
    }
}
