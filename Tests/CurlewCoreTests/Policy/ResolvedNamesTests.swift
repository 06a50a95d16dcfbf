import CurlewCore
import Testing

@Suite("Answers of a resolver")
struct ResolvedNamesTests {
    private final class Waiter: Sendable {}

    private typealias Names = ResolvedNames<Waiter>
    private let name = HostAndPort(host: "shop.test", port: 80)
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    private func answer(_ addresses: String..., life: Int = 10) -> (addresses: [String], timeToLive: Duration) {
        (addresses, .seconds(life))
    }

    @Test func oneLookupServesAllWaiters() {
        var names = Names()
        let waiters = (0..<50).map { _ in Waiter() }
        #expect(names.find(name, for: waiters[0], at: at(0)) == .ask(number: 1))
        for waiter in waiters.dropFirst() { #expect(names.find(name, for: waiter, at: at(1)) == .joined) }
        let answered = names.answered(name, number: 1, answer("192.0.2.1"), at: at(2))
        #expect(answered.map(ObjectIdentifier.init) == waiters.map(ObjectIdentifier.init))
        #expect(names.find(name, for: Waiter(), at: at(11)) == .known(["192.0.2.1"]))
    }

    @Test func otherPortIsLookedUpSeparately() {
        var names = Names()
        let other = HostAndPort(host: "shop.test", port: 81)
        #expect(names.find(name, for: Waiter(), at: at(0)) == .ask(number: 1))
        #expect(names.find(other, for: Waiter(), at: at(0)) == .ask(number: 2))
    }

    @Test func expiredAnswerIsLookedUpAgain() {
        var names = Names()
        _ = names.find(name, for: Waiter(), at: at(0))
        _ = names.answered(name, number: 1, answer("192.0.2.1"), at: at(0))
        #expect(names.find(name, for: Waiter(), at: at(9)) == .known(["192.0.2.1"]))
        #expect(names.newest(name) == ["192.0.2.1"])
        #expect(names.find(name, for: Waiter(), at: at(10)) == .ask(number: 2))
        _ = names.answered(name, number: 2, answer("192.0.2.2"), at: at(11))
        #expect(names.find(name, for: Waiter(), at: at(12)) == .known(["192.0.2.2"]))
    }

    @Test(arguments: [0, -5]) func answerWithZeroTTLServesOnlyItsWaiters(life: Int) {
        var names = Names()
        _ = names.find(name, for: Waiter(), at: at(0))
        #expect(names.answered(name, number: 1, answer("192.0.2.1", life: life), at: at(0)).count == 1)
        #expect(names.find(name, for: Waiter(), at: at(0)) == .ask(number: 2))
    }

    @Test func answerIsKeptForAtMostAWeek() {
        var names = Names()
        _ = names.find(name, for: Waiter(), at: at(0))
        _ = names.answered(name, number: 1, (["192.0.2.1"], .seconds(Int64.max)), at: at(0))
        #expect(names.find(name, for: Waiter(), at: at(7 * 86_400 - 1)) == .known(["192.0.2.1"]))
        #expect(names.find(name, for: Waiter(), at: at(7 * 86_400)) == .ask(number: 2))
    }

    @Test func failuresAreNotStored() {
        var names = Names()
        _ = names.find(name, for: Waiter(), at: at(0))
        _ = names.find(name, for: Waiter(), at: at(0))
        #expect(names.answered(name, number: 1, nil, at: at(0)).count == 2)
        #expect(names.find(name, for: Waiter(), at: at(0)) == .ask(number: 2))
    }

    @Test func lookupEndsWithItsLastWaiter() {
        var names = Names()
        let (one, other) = (Waiter(), Waiter())
        _ = names.find(name, for: one, at: at(0))
        _ = names.find(name, for: other, at: at(0))
        #expect(names.abandoned(name, by: one) == nil)
        #expect(names.abandoned(name, by: one) == nil)
        #expect(names.abandoned(name, by: other) == 1)
        #expect(names.abandoned(name, by: other) == nil)
    }

    @Test func answerToAbandonedLookupIsIgnored() {
        var names = Names()
        let (one, other) = (Waiter(), Waiter())
        _ = names.find(name, for: one, at: at(0))
        #expect(names.abandoned(name, by: one) == 1)
        #expect(names.find(name, for: other, at: at(0)) == .ask(number: 2))
        #expect(names.answered(name, number: 1, answer("192.0.2.1"), at: at(1)).isEmpty)
        #expect(names.newest(name) == nil)
        #expect(
            names.answered(name, number: 2, answer("192.0.2.2"), at: at(1)).map(ObjectIdentifier.init) == [
                ObjectIdentifier(other)
            ])
    }

    @Test func theNumberOfAnswersIsBounded() {
        var names = Names()
        let last = Names.capacity + 10
        for index in 0...last {
            let name = HostAndPort(host: "h\(index)", port: 80)
            _ = names.find(name, for: Waiter(), at: at(0))
            _ = names.answered(name, number: index + 1, answer("192.0.2.1", life: 100 + index), at: at(0))
            #expect(names.answerCount <= Names.capacity)
        }
        // The answers that expire first were removed.
        #expect(names.newest(HostAndPort(host: "h0", port: 80)) == nil)
        #expect(names.newest(HostAndPort(host: "h\(last)", port: 80)) != nil)
        let next = HostAndPort(host: "next", port: 80)
        _ = names.find(next, for: Waiter(), at: at(10_000))
        _ = names.answered(next, number: last + 2, answer("192.0.2.1"), at: at(10_000))
        #expect(names.answerCount == 1)
    }

    // MARK: Answers

    @Test(arguments: [
        (["192.0.2.1", "::1"], DNSConfiguration.IPVersion.any, ["192.0.2.1", "::1"]),
        (["[2001:db8::1]", "2001:db8::1", "192.0.2.1"], .any, ["2001:db8::1", "192.0.2.1"]),
        (["192.0.2.1", "::1"], .v4, ["192.0.2.1"]),
        (["192.0.2.1", "::1"], .v6, ["::1"]),
    ])
    func ipVersionIsApplied(_ addresses: [String], _ version: DNSConfiguration.IPVersion, _ usable: [String]) throws {
        #expect(try DNSAnswer(addresses: addresses).usableAddresses(of: version) == usable)
    }

    @Test(arguments: [
        ([], DNSConfiguration.IPVersion.any, "the resolver returned no address"),
        (["::1"], .v4, "the resolver returned no IPv4 address"),
        (["192.0.2.1"], .v6, "the resolver returned no IPv6 address"),
        (["192.0.2.1", "db.internal"], .any, "the resolver returned \"db.internal\", which is no IP address"),
        (["192.0.2.1:80"], .any, "the resolver returned \"192.0.2.1:80\", which is no IP address"),
        (["fe80::1%eth0"], .any, "the resolver returned \"fe80::1%eth0\", which is no IP address"),
        (["1.2.3.4,5.6.7.8"], .any, "the resolver returned \"1.2.3.4,5.6.7.8\", which is no IP address"),
        ([""], .any, "the resolver returned \"\", which is no IP address"),
    ])
    func unusableAddressesAreErrors(_ addresses: [String], _ version: DNSConfiguration.IPVersion, _ reason: String) {
        #expect {
            try DNSAnswer(addresses: addresses).usableAddresses(of: version)
        } throws: { error in
            let error = error as? CurlewError
            return error?.code == .resolveFailed && error?.phase == .resolve && error?.reason == reason
        }
    }

    @Test func theFirst64AddressesAreUsed() throws {
        let answer = DNSAnswer(addresses: (0..<200).map { "192.0.2.\($0)" })
        #expect(try answer.usableAddresses(of: .any).count == 64)
    }

    // MARK: Configuration

    @Test func configurationWithResolverEqualsItsCopy() {
        var one = DNSConfiguration()
        one.resolver = { _, _ in DNSAnswer(addresses: ["192.0.2.1"]) }
        let copy = one
        var other = DNSConfiguration()
        other.resolver = { _, _ in DNSAnswer(addresses: ["192.0.2.1"]) }
        #expect(one == copy && one != other && one != DNSConfiguration())
        #expect(one.description.contains("own resolver"))
        other.resolver = nil
        #expect(other == DNSConfiguration() && other.resolver == nil)
    }
}
