internal import CurlewCore
internal import Foundation

/// A request's host whose addresses the configuration's resolver has to find. A class, so that an absent question costs
/// one pointer in every plan.
final class HostQuestion: Sendable {
    /// What the resolver is asked for: the host in ASCII and lower case, without a final dot, and the port.
    let name: HostAndPort
    /// The host as libcurl looks it up.
    let key: String
    /// Whether libcurl looks up no other name for the request, such as that of a proxy.
    let isDirect: Bool

    init(name: HostAndPort, key: String, isDirect: Bool) {
        (self.name, self.key, self.isDirect) = (name, key, isDirect)
    }

    /// The entry for `CURLOPT_RESOLVE`. It replaces that of an earlier request, and expires with libcurl's others: a
    /// permanent one would stay in libcurl's cache for good, and there is no bound on the number of names.
    func line(_ addresses: [String]) -> String {
        "+\(key):\(name.port):\(DNSPlan.list(addresses))"
    }
}

extension DNSPlan {
    /// The time for which libcurl keeps a resolver's answer, at least. Each request brings the current one.
    static let leastLifetime = Duration.seconds(60)

    /// Returns the question for the resolver; `nil` if there is no resolver, or if libcurl does not need the host's
    /// address. `proxy` is the one that the request uses.
    static func question(
        _ configuration: TransportConfiguration, _ wire: WireURL, proxy: Proxy
    ) throws(CurlewError) -> HostQuestion? {
        guard configuration.dns.resolver != nil, configuration.unixSocketPath == nil else { return nil }
        let (host, port) = (wire.host, wire.port)
        // libcurl would take an entry for `*` as one for all hosts.
        guard host != "*", Hostname.isUsable(host), let name = Hostname.canonical(host) else {
            throw .unresolved("the host is no name that can be resolved")
        }
        guard IPAddress(name) == nil, overrides(configuration.dns, host: host, port: port).isEmpty,
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
        return HostQuestion(name: HostAndPort(host: name, port: port), key: isASCII ? host : name, isDirect: isDirect)
    }

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
