internal import CCurl
internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Translates a proxy into options.
enum ProxyPlan {
    static func options(_ proxy: Proxy) -> [OptionValue] {
        switch proxy {
        // As for an explicit proxy: with Basic, libcurl's default, the password is sent at once, even to a proxy that
        // asks for Digest.
        case .environment: return [.long(CURLOPT_PROXYAUTH, Int(bitPattern: CurlAuth.any))]
        // Empty strings: libcurl reads the environment for each of the two options that is not set.
        case .none: return [.string(CURLOPT_PROXY, ""), .string(CURLOPT_NOPROXY, "")]
        case .url(let url, let username, let password, _):
            var options: [OptionValue] = [.string(CURLOPT_PROXY, url.absoluteString)]
            if let username {
                options.append(.string(CURLOPT_PROXYUSERNAME, username))
                options.append(.string(CURLOPT_PROXYPASSWORD, password ?? ""))
            }
            if username != nil || url.user != nil {
                // With Basic, libcurl's default, the password is sent at once. If more schemes are allowed, libcurl
                // waits for the challenge.
                options.append(.long(CURLOPT_PROXYAUTH, Int(bitPattern: CurlAuth.any)))
            }
            // Empty, so that NO_PROXY of the environment does not apply. `excludes` decides instead: an address policy
            // must know which requests libcurl sends past the proxy.
            options.append(.string(CURLOPT_NOPROXY, ""))
            return options
        }
    }

    /// The options that replace the session's proxy for one request. They reset everything first, because the session's
    /// credentials are meant for the session's proxy alone.
    static func options(insteadOfOthers proxy: Proxy) -> [OptionValue] {
        [
            .null(CURLOPT_PROXY), .null(CURLOPT_PROXYUSERNAME), .null(CURLOPT_PROXYPASSWORD), .null(CURLOPT_NOPROXY),
            .long(CURLOPT_PROXYAUTH, Int(CurlAuth.basic)),
        ] + options(proxy)
    }

    static func check(
        _ proxy: Proxy,
        _ policy: AddressPolicy,
        _ capabilities: Capabilities
    ) throws(CurlewError) {
        try check(proxy, capabilities)
        guard isAllowed(proxy, policy) else { throw hidesAddress }
    }

    /// Whether a proxy's exclusions apply to a URL.
    ///
    /// The exclusions are compared with the host that libcurl reads in the URL, with escapes and short forms of
    /// addresses resolved. With any other reading a request could bypass both the proxy and the address policy.
    static func excludes(_ url: String, _ exclusions: ProxyExclusions) throws(CurlewError) -> Bool {
        guard let host = URLParts.host(of: url) else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the URL's host cannot be read")
        }
        return exclusions.contains(host)
    }

    static func exclusions(of proxy: Proxy) -> ProxyExclusions? {
        guard case .url(_, _, _, let exclusions) = proxy, !exclusions.isEmpty else { return nil }
        return ProxyExclusions(exclusions)
    }

    /// Whether an address policy permits requests through this proxy.
    static func isAllowed(_ proxy: Proxy, _ policy: AddressPolicy) -> Bool {
        if case .none = proxy { return true }
        switch policy {
        case .any: return true
        case .publicOnly: return false
        case .publicOnlyBehind(let proxies):
            guard case .url(let url, _, _, _) = proxy else { return false }
            return proxies.contains { trusted in
                trusted.scheme?.lowercased() == url.scheme?.lowercased()
                    && trusted.host()?.lowercased() == url.host()?.lowercased() && trusted.port == url.port
            }
        }
    }

    static var hidesAddress: CurlewError {
        CurlewError(
            .addressRefused,
            phase: .creation,
            reason: "through a proxy the address that is connected to cannot be seen here"
        )
    }

    /// Whether the environment names a proxy for any host.
    static func environmentNamesProxy(_ environment: [String: String]) -> Bool {
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            .contains { environment[$0]?.isEmpty == false }
    }

    /// Whether the environment names a proxy for this host. libcurl 7 does not report the address of a failed
    /// connection, so this repeats libcurl's rules.
    static func environmentNamesProxy(for host: String, isTLS: Bool, in environment: [String: String]) -> Bool {
        proxyText(host: host, isTLS: isTLS, environment: environment) != nil
    }

    private static func proxyText(host: String, isTLS: Bool, environment: [String: String]) -> String? {
        let value = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        // A CGI request can set HTTP_PROXY by a header field, so libcurl does not read it.
        let names = isTLS ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard let text = (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap(value).first,
            !ProxyExclusions(value("no_proxy") ?? value("NO_PROXY") ?? "").contains(host)
        else { return nil }
        return text
    }

    /// The side that looks up the host of a request's URL.
    enum Lookup {
        /// libcurl, to connect to it.
        case direct
        /// libcurl, to tell a SOCKS proxy the address.
        case beforeProxy
        /// The proxy.
        case atProxy
    }

    /// Returns the side that looks up the host. The environment is read for each request that uses its proxy, as libcurl
    /// does.
    static func lookup(
        of host: String, isTLS: Bool, through proxy: Proxy,
        environment: @autoclosure () -> [String: String] = ProcessInfo.processInfo.environment
    ) -> Lookup {
        let text: String
        switch proxy {
        case .none: return .direct
        case .url(let url, _, _, _): text = url.absoluteString
        case .environment:
            guard let named = proxyText(host: host, isTLS: isTLS, environment: environment()) else { return .direct }
            text = named
        }
        let scheme = text.lowercased()
        return scheme.hasPrefix("socks5://") || scheme.hasPrefix("socks://") || scheme.hasPrefix("socks4://")
            ? .beforeProxy : .atProxy
    }

    static let schemes: Set<String> = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    static func check(_ proxy: Proxy, _ capabilities: Capabilities) throws(CurlewError) {
        guard case .url(let url, let username, let password, _) = proxy else { return }
        try AuthenticationPlan.check([username, password, url.user(), url.password()])
        guard let scheme = url.scheme?.lowercased(), schemes.contains(scheme), url.host() != nil else {
            throw CurlewError(
                .proxyFailed,
                phase: .creation,
                reason: "a proxy URL needs a host and the scheme http, https, socks4, socks4a, socks5 or socks5h",
                url: url
            )
        }
        if scheme == "https" { try capabilities.require(.httpsProxy) }
    }
}

/// Decides which requests may share the connections to a proxy, by their credentials.
///
/// libcurl reuses any tunnel through the same proxy, regardless of the credentials that opened it, and any connection
/// to the proxy, even if NTLM or Negotiate has authenticated it. Therefore the first credentials that are used with a
/// proxy own its shared connections. Requests with other credentials get a connection each.
final class ProxyConnectionCredentials: Sendable {
    private struct Credentials: Equatable {
        var username: String?
        var password: String?
    }

    private let owners = Lock<[String: Credentials]>([:])
    private let environmentNamesProxy: Bool
    /// Whether the transport's requests use the environment's proxy. Only libcurl reads the credentials of that proxy.
    private let usesEnvironment: Bool

    /// The maximum number of proxies with an owner. An entry is never removed, because connections of the owner may
    /// still be open. Requests through further proxies share no connections.
    private static let maximumOwners = 4096

    /// Creates the table; `proxy` is the transport's.
    init(_ proxy: Proxy, environmentNamesProxy: Bool) {
        self.environmentNamesProxy = environmentNamesProxy
        usesEnvironment = proxy == .environment && environmentNamesProxy
        _ = claim(proxy)
    }

    /// Claims the shared connections to the proxy for its credentials. The first call for a proxy makes its credentials
    /// the owner. Returns false if others own them: then no request through the proxy may use connections of earlier
    /// ones, or leave its own for later ones.
    func claim(_ proxy: Proxy) -> Bool {
        let (url, username, password): (URL, String?, String?)
        switch proxy {
        case .none: return true
        case .environment: return usesEnvironment || !environmentNamesProxy
        case .url(let own, let name, let secret, _): (url, username, password) = (own, name, secret)
        }
        // libcurl compares the credentials of other proxies itself.
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else { return true }
        // The proxy may be the environment's, whose credentials are unknown here.
        if usesEnvironment { return false }
        // libcurl compares the host as it has parsed it.
        let host = URLParts.host(of: url.absoluteString) ?? url.host() ?? ""
        let name = "\(scheme)://\(host.lowercased()):\(url.port ?? (scheme == "https" ? 443 : 1080))"
        let own = Credentials(username: username ?? url.user(), password: password ?? url.password())
        return owners.withLock { owners in
            if let known = owners[name] { return known == own }
            guard owners.count < Self.maximumOwners else { return false }
            owners[name] = own
            return true
        }
    }
}
