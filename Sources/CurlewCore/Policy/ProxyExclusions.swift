/// The hosts that are reached without the proxy, by the rules of curl for `NO_PROXY`.
package struct ProxyExclusions: Sendable, Hashable {
    private enum Pattern: Sendable, Hashable {
        case everything
        /// Lower case, without a dot at either end.
        case name(String)
        case network(IPAddress, bits: Int)
    }

    private let patterns: [Pattern]

    /// Parses a list that is separated by commas: `localhost,.example.com,10.0.0.0/8`. `*` alone matches every host.
    package init(_ list: String) {
        if list == "*" {
            patterns = [.everything]
            return
        }
        var patterns: [Pattern] = []
        var scanner = ByteScanner(list)
        repeat {
            scanner.skip { ASCII.isBlank($0) || $0 == UInt8(ascii: ",") }
            let word = scanner.take { !ASCII.isBlank($0) && $0 != UInt8(ascii: ",") }
            if let pattern = Self.pattern(String(decoding: word, as: UTF8.self)) { patterns.append(pattern) }
            scanner.skip(while: ASCII.isBlank)
            // As in curl, a blank within an entry ends the list.
        } while scanner.skip(",")
        self.patterns = patterns
    }

    package init(_ entries: [String]) { self.init(entries.joined(separator: ",")) }

    /// Whether `host` is reached without the proxy. An IPv6 address is given without brackets.
    package func contains(_ host: String) -> Bool {
        let address = IPAddress(host)
        var name = ASCII.lowercased(host)
        if name.hasSuffix(".") { name.removeLast() }
        return patterns.contains { pattern in
            switch pattern {
            case .everything: true
            case .name(let suffix): address == nil && Hostname.matches(name, domain: suffix)
            case .network(let network, let bits): address?.shares(prefix: bits, with: network) ?? false
            }
        }
    }

    private static func pattern(_ word: String) -> Pattern? {
        let parts = word.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first else { return nil }
        if let address = IPAddress(String(first)) {
            let all = address.bytes.count * 8
            guard parts.count == 2 else { return .network(address, bits: all) }
            guard !parts[1].isEmpty, parts[1].utf8.allSatisfy(ASCII.isDigit), let bits = Int(parts[1]), bits <= all
            else { return nil }
            // curl treats /0 as the address itself, not as every address.
            return .network(address, bits: bits == 0 ? all : bits)
        }
        var name = ASCII.lowercased(word)
        if name.hasSuffix(".") { name.removeLast() }
        if name.hasPrefix(".") { name.removeFirst() }
        return name.isEmpty ? nil : .name(name)
    }
}
