internal import Curlew
internal import Foundation

/// The proxies of a `connectionProxyDictionary`, by the scheme of the requested URL.
struct FoundationProxies: Sendable {
    private let http: URL?
    private let https: URL?
    private let socks: URL?
    private let exclusions: [String]

    init(_ dictionary: [AnyHashable: Any]) {
        func proxy(_ name: String, scheme: String) -> URL? {
            guard let named = dictionary["\(name)Proxy"],
                (dictionary["\(name)Enable"] as? NSNumber)?.boolValue ?? true, named as? String != ""
            else { return nil }
            var components = URLComponents()
            components.scheme = scheme
            components.host = (named as? String).map(Self.writable)
            if let port = (dictionary["\(name)Port"] as? NSNumber)?.intValue {
                // A port that cannot exist becomes 0, which cannot be reached: the request must fail and not connect
                // directly. `URLComponents` would trap on a negative port.
                components.port = (0...65535).contains(port) ? port : 0
            }
            // For that reason too, an invalid host becomes a proxy without a host, with which requests fail.
            guard components.host != nil, let url = components.url else { return URL(string: "\(scheme):") }
            return url
        }
        http = proxy("HTTP", scheme: "http")
        https = proxy("HTTPS", scheme: "http")
        socks = proxy("SOCKS", scheme: "socks5h")
        exclusions = dictionary["ExceptionsList"] as? [String] ?? []
    }

    /// The host as a URL contains it: an IPv6 address is in brackets.
    private static func writable(_ host: String) -> String {
        let address = host.prefix { $0 != "%" }
        let isAddress = address.count { $0 == ":" } > 1 && address.allSatisfy { $0.isHexDigit || ":.".contains($0) }
        return isAddress ? "[\(host)]" : host
    }

    /// The proxy for a URL. If the dictionary names none, the connection is direct, even if the environment names a
    /// proxy.
    func proxy(for url: URL) -> Proxy {
        guard let proxy = (url.scheme?.lowercased() == "https" ? https : http) ?? socks else { return .none }
        return .url(proxy, exclusions: exclusions.map { $0.hasPrefix("*.") ? String($0.dropFirst()) : $0 })
    }
}
