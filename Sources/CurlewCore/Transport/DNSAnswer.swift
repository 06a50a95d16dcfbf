internal import Foundation

/// The addresses of a host, as your resolver has found them. See ``DNSConfiguration/resolver``.
public struct DNSAnswer: Sendable, Hashable {
    /// IPv4 and IPv6 addresses as text, in the order in which they are tried. Of each IP version, the next one is tried
    /// if the one before cannot be reached. The first 64 are used.
    public var addresses: [String]
    /// The time for which the session uses the answer without asking again, at most a week. With zero, it serves only
    /// the requests that are waiting for it.
    public var timeToLive: Duration

    /// Creates an answer.
    public init(addresses: [String], timeToLive: Duration = .seconds(60)) {
        self.addresses = addresses
        self.timeToLive = timeToLive
    }
}

/// A user's resolver. A class, because closures cannot be compared: two configurations with resolvers are equal if they
/// are copies of each other.
package final class DNSResolver: Sendable, Hashable {
    package typealias Resolve = @Sendable (_ host: String, _ port: Int) async throws -> DNSAnswer

    package let resolve: Resolve
    /// A text that no other resolver has, in any process.
    package let identity = UUID().uuidString

    package init(_ resolve: @escaping Resolve) { self.resolve = resolve }

    package static func == (one: DNSResolver, other: DNSResolver) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension DNSAnswer {
    private static let mostAddresses = 64

    /// The addresses to connect to, without brackets and duplicates. Throws if one of them is malformed, or if none of
    /// them has a permitted version.
    package func usableAddresses(of version: DNSConfiguration.IPVersion) throws(CurlewError) -> [String] {
        var usable: [String] = []
        for text in addresses.prefix(Self.mostAddresses) {
            let address = Hostname.withoutBrackets(text)
            guard let parsed = IPAddress(address, allowsZone: false) else {
                throw .unresolved("the resolver returned \"\(text.prefix(100))\", which is no IP address")
            }
            if version.permits(parsed), !usable.contains(address) { usable.append(address) }
        }
        // libcurl would ignore an entry without a permitted address, and ask the system.
        guard usable.isEmpty else { return usable }
        switch version {
        case .any: throw .unresolved("the resolver returned no address")
        case .v4: throw .unresolved("the resolver returned no IPv4 address")
        case .v6: throw .unresolved("the resolver returned no IPv6 address")
        }
    }
}

extension DNSConfiguration.IPVersion {
    fileprivate func permits(_ address: IPAddress) -> Bool {
        switch (self, address) {
        case (.any, _), (.v4, .v4), (.v6, .v6): true
        case (.v4, .v6), (.v6, .v4): false
        }
    }
}

extension CurlewError {
    /// The user's resolver has given no usable answer; `underlying` is the error that it has thrown.
    package static func unresolved(_ reason: String, _ underlying: (any Error)? = nil) -> CurlewError {
        CurlewError(.resolveFailed, phase: .resolve, reason: reason, underlying: underlying)
    }
}
