internal import CCurl
internal import CurlewCore
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
    static func isProxied(host: String, isTLS: Bool, environment: [String: String]) -> Bool {
        let value = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        // A CGI request can set HTTP_PROXY by a header field, so libcurl does not read it.
        let names = isTLS ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard (names + ["all_proxy", "ALL_PROXY"]).contains(where: { value($0) != nil }) else { return false }
        return !ProxyExclusions(value("no_proxy") ?? value("NO_PROXY") ?? "").contains(host)
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

/// libcurl's CURLAUTH_* bits. The macros of the header contain casts, which Swift does not import.
enum CurlAuth {
    static let basic: UInt = 1
    static let digest: UInt = 1 << 1
    static let negotiate: UInt = 1 << 2
    static let ntlm: UInt = 1 << 3
    static let bearer: UInt = 1 << 6
    static let awsSigV4: UInt = 1 << 7
    static let digestIE: UInt = 1 << 4
    static let any = ~digestIE
}
