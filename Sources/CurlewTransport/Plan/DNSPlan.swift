internal import CCurl
internal import CurlewCore
internal import Foundation

/// Translates the configuration of name resolution into options.
enum DNSPlan {
    /// Returns the configuration's override for this host and port; empty if there is none.
    static func overrides(_ dns: DNSConfiguration, host: String, port: Int) -> [OptionValue] {
        if dns.overrides.isEmpty { return [] }
        for (key, addresses) in dns.overrides where !addresses.isEmpty {
            guard matches(key, host: host, port: port) else { continue }
            return [.list(CURLOPT_RESOLVE, ["\(host):\(port):\(list(addresses))"])]
        }
        return []
    }

    /// Addresses as `CURLOPT_RESOLVE` has them.
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
}
