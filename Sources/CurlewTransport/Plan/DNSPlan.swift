internal import CCurl
internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Translates the configuration of name resolution into options.
enum DNSPlan {
    static func options(_ dns: DNSConfiguration, _ capabilities: Capabilities) throws(CurlewError) -> [OptionValue] {
        try check(dns)
        var options: [OptionValue] = []
        let lifetime = dns.resolver == nil ? dns.cacheLifetime : max(dns.cacheLifetime, leastLifetime)
        if lifetime != .seconds(60) {
            let seconds = Int32(clamping: lifetime.components.seconds)
            options.append(.long(CURLOPT_DNS_CACHE_TIMEOUT, Int(seconds)))
        }
        switch dns.ipVersion {
        case .any: break
        case .v4: options.append(.long(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4)))
        case .v6: options.append(.long(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6)))
        }
        if let delay = dns.happyEyeballsDelay {
            options.append(.long(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, max(1, delay.clampedMilliseconds)))
        }
        if let doh = dns.dohURL { options.append(.string(CURLOPT_DOH_URL, doh.absoluteString)) }
        if !dns.servers.isEmpty {
            try capabilities.require(.nameServers)
            options.append(.string(CURLOPT_DNS_SERVERS, dns.servers.joined(separator: ",")))
        }
        return options
    }

    private static func check(_ dns: DNSConfiguration) throws(CurlewError) {
        func refuse(_ reason: String) -> CurlewError {
            CurlewError(.requestCreationFailed, phase: .creation, reason: reason)
        }
        // libcurl reads -1 as "for ever".
        guard dns.cacheLifetime >= .zero else { throw refuse("the lifetime of resolved names is negative") }
        for (host, addresses) in dns.overrides {
            for address in addresses where !isAddress(address) {
                throw refuse("the DNS override of \(host) has \"\(address)\", which is no IP address")
            }
        }
    }

    private static func isAddress(_ text: String) -> Bool {
        IPAddress(Hostname.withoutBrackets(text), allowsZone: false) != nil
    }

    // MARK: Overrides

    /// Returns the configuration's override for this host and port; empty if there is none. A key with the port takes
    /// precedence over one without it.
    static func overrides(_ dns: DNSConfiguration, host: String, port: Int) -> [OptionValue] {
        if dns.overrides.isEmpty { return [] }
        // Sorted, because several spellings of a host may match and a dictionary has no order.
        let matching = dns.overrides.filter { !$0.value.isEmpty && matches($0.key, host: host, port: port) }
            .sorted { $0.key < $1.key }
        let override = matching.first { $0.key.hasSuffix(":\(port)") } ?? matching.first
        guard let addresses = override?.value else { return [] }
        return [.list(CURLOPT_RESOLVE, ["\(host):\(port):\(list(addresses))"])]
    }

    /// Formats addresses for `CURLOPT_RESOLVE`.
    static func list(_ addresses: [String]) -> String {
        addresses.map(Hostname.bracketed).joined(separator: ",")
    }

    private static func matches(_ key: String, host: String, port: Int) -> Bool {
        if ASCII.equalsIgnoringCase(key, host) || ASCII.equalsIgnoringCase(key, "\(host):\(port)") { return true }
        // libcurl looks up the ASCII form of an international name.
        guard key.utf8.contains(where: { $0 >= 0x80 }) else { return false }
        let parts = key.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = Hostname.canonical(String(parts[0])), ASCII.equalsIgnoringCase(name, host) else {
            return false
        }
        return parts.count == 1 || parts[1] == String(port)
    }

    // MARK: The user's resolver

    /// The shortest time for which libcurl keeps a resolver's answer. Each request brings the current answer.
    static let leastLifetime = Duration.seconds(60)

    /// Returns the question for the configuration's resolver; `nil` if libcurl does not need the host's address.
    /// `proxy` is the one that the request uses. Called in the task that makes the request; throws if the resolver's
    /// answer waits for that task.
    static func question(
        for resolver: DNSResolver, _ configuration: TransportConfiguration, _ wire: WireURL, proxy: Proxy
    ) throws(CurlewError) -> HostQuestion? {
        guard configuration.unixSocketPath == nil else { return nil }
        let (host, port) = (wire.host, wire.port)
        // libcurl would take an entry for `*` as one for all hosts.
        guard host != "*", Hostname.isUsable(host), let name = Hostname.canonical(host) else {
            throw .unresolved("the host is no name that can be resolved")
        }
        guard IPAddress(name) == nil, !isLocal(name), overrides(configuration.dns, host: host, port: port).isEmpty,
            !isMapped(host, port, by: configuration.tls.connectTo)
        else { return nil }
        let isDirect: Bool
        switch ProxyPlan.lookup(of: host, isTLS: wire.isTLS, through: proxy) {
        case .direct: isDirect = true
        case .beforeProxy: isDirect = false
        case .atProxy: return nil
        }
        // libcurl looks up the ASCII form of an international name.
        let isASCII = host.utf8.allSatisfy { $0 < 0x80 }
        let (asked, callers) = (HostAndPort(host: name, port: port), ResolverCall.current)
        guard !callers.contains(where: { $0.asks(resolver, for: asked) }) else {
            throw .unresolved("the resolver asks for the host that it is to resolve")
        }
        return HostQuestion(name: asked, key: isASCII ? host : name, isDirect: isDirect, callers: callers)
    }

    /// Whether the name is that of this machine, which no resolver is asked for (RFC 6761, 6.3). Requests without TLS
    /// rely on that.
    private static func isLocal(_ name: String) -> Bool { name == "localhost" || name.hasSuffix(".localhost") }

    /// Whether `connectTo` sends connections for the host elsewhere (CURLOPT_CONNECT_TO: an empty host or port matches
    /// any). libcurl looks up the target.
    private static func isMapped(_ host: String, _ port: Int, by connectTo: [String: String]) -> Bool {
        connectTo.keys.contains { key in
            guard let colon = key.lastIndex(of: ":") else { return false }
            let (ownHost, ownPort) = (String(key[..<colon]), key[key.index(after: colon)...])
            return (ownHost.isEmpty || ASCII.equalsIgnoringCase(ownHost, host))
                && (ownPort.isEmpty || ownPort == "\(port)")
        }
    }
}

/// A request's host whose addresses the configuration's resolver has to find. A class, so that an absent question costs
/// one pointer in every plan.
final class HostQuestion: Sendable {
    /// The question: the host in ASCII and lower case, without a final dot, and the port.
    let name: HostAndPort
    /// The host as libcurl looks it up.
    let key: String
    /// Whether libcurl looks up no other name for the request, such as that of a proxy.
    let isDirect: Bool
    /// The calls of resolvers that wait for the request.
    let callers: [ResolverCall]

    init(name: HostAndPort, key: String, isDirect: Bool, callers: [ResolverCall] = []) {
        (self.name, self.key, self.isDirect, self.callers) = (name, key, isDirect, callers)
    }

    /// The entry for `CURLOPT_RESOLVE`. It replaces the entry of an earlier request, and expires like libcurl's other
    /// entries: a permanent one would stay in libcurl's cache for good, and there is no bound on the number of names.
    func resolveEntry(_ addresses: [String]) -> String {
        "+\(key):\(name.port):\(DNSPlan.list(addresses))"
    }
}

/// The call of a resolver for one host.
///
/// A resolver may send requests over the session that it serves. If they need the answer of a call that waits for them,
/// they are refused, because they would wait for themselves. (Two calls that were made independently and then wait for
/// each other's answers are not recognized; they end with their connect timeouts.)
final class ResolverCall: Sendable {
    private let resolver: DNSResolver
    private let name: HostAndPort
    private let hasEnded = Lock(false)

    init(_ resolver: DNSResolver, _ name: HostAndPort) { (self.resolver, self.name) = (resolver, name) }

    func end() { hasEnded.withLock { $0 = true } }

    /// Whether the resolver is still being asked for the host.
    func asks(_ resolver: DNSResolver, for name: HostAndPort) -> Bool {
        self.resolver == resolver && self.name == name && !hasEnded.withLock { $0 }
    }

    /// The calls around the current task. A task that a resolver has started still has them after they have ended.
    @TaskLocal static var current: [ResolverCall] = []

    /// Runs the resolver, with its call added to those around the task.
    static func run(
        _ resolver: DNSResolver, for name: HostAndPort, within callers: [ResolverCall]
    ) async throws -> DNSAnswer {
        let call = ResolverCall(resolver, name)
        defer { call.end() }
        let calls = callers.filter { !$0.hasEnded.withLock { $0 } } + [call]
        return try await $current.withValue(calls) { try await resolver.resolve(name.host, name.port) }
    }
}
