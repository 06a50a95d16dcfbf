internal import CurlewCore
internal import CurlewLocks
internal import Foundation

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
    private static let most = 4096

    /// Creates the table; `proxy` is the transport's.
    init(_ proxy: Proxy, environmentNamesProxy: Bool) {
        self.environmentNamesProxy = environmentNamesProxy
        usesEnvironment = proxy == .environment && environmentNamesProxy
        _ = mayShare(proxy)
    }

    /// Whether requests through the proxy may use connections of earlier requests and leave theirs for later ones. The
    /// first call for a proxy makes its credentials the owner.
    func mayShare(_ proxy: Proxy) -> Bool {
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
            guard owners.count < Self.most else { return false }
            owners[name] = own
            return true
        }
    }
}
