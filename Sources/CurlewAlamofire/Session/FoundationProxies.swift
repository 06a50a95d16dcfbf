internal import Curlew
internal import Foundation

/// The proxies of a `connectionProxyDictionary`, by the scheme of what is fetched.
struct FoundationProxies: Sendable {
    private let http: URL?
    private let https: URL?
    private let socks: URL?
    private let exclusions: [String]

    init(_ dictionary: [AnyHashable: Any]) {
        func proxy(_ name: String, scheme: String) -> URL? {
            guard (dictionary["\(name)Enable"] as? NSNumber)?.boolValue ?? (dictionary["\(name)Proxy"] != nil),
                let host = dictionary["\(name)Proxy"] as? String, !host.isEmpty
            else { return nil }
            var components = URLComponents()
            components.scheme = scheme
            components.host = host
            if let port = (dictionary["\(name)Port"] as? NSNumber)?.intValue {
                // A port that cannot be reached takes the place of one that cannot exist: a direct connection must not, and
                // URLComponents traps on a negative one.
                components.port = (0...65535).contains(port) ? port : 0
            }
            return components.url
        }
        http = proxy("HTTP", scheme: "http")
        https = proxy("HTTPS", scheme: "http")
        socks = proxy("SOCKS", scheme: "socks5h")
        exclusions = dictionary["ExceptionsList"] as? [String] ?? []
    }

    /// A connection of its own where the dictionary names no proxy: it replaces the environment's.
    func proxy(for url: URL) -> Proxy {
        guard let proxy = (url.scheme?.lowercased() == "https" ? https : http) ?? socks else { return .none }
        return .url(proxy, exclusions: exclusions.map { $0.hasPrefix("*.") ? String($0.dropFirst()) : $0 })
    }
}
