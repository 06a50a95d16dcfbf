internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// With which credentials connections to a proxy are kept for later requests.
///
/// libcurl takes any tunnel through the same proxy, whatever credentials opened it, and any connection to the proxy, although NTLM
/// and Negotiate have authenticated it. So only the credentials that came first keep their connections. Requests with others
/// go alone.
final class ProxyConnectionCredentials: Sendable {
    private struct Credentials: Equatable {
        var username: String?
        var password: String?
    }

    private let owners = Lock<[String: Credentials]>([:])
    private let environmentNamesProxy: Bool
    /// The transport's requests go through the environment's proxy, whose credentials only libcurl reads.
    private let usesEnvironment: Bool

    /// No entry is removed, because connections of its owner may still be open: a proxy beyond these has no owner.
    private static let most = 4096

    /// `proxy` is that of the transport.
    init(_ proxy: Proxy, environmentNamesProxy: Bool) {
        self.environmentNamesProxy = environmentNamesProxy
        usesEnvironment = proxy == .environment && environmentNamesProxy
        _ = mayShare(proxy)
    }

    /// Whether requests through the proxy may use connections of earlier ones, and leave theirs.
    func mayShare(_ proxy: Proxy) -> Bool {
        let (url, username, password): (URL, String?, String?)
        switch proxy {
        case .none: return true
        case .environment: return usesEnvironment || !environmentNamesProxy
        case .url(let own, let name, let secret, _): (url, username, password) = (own, name, secret)
        }
        // libcurl compares the credentials of other proxies itself.
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else { return true }
        // It may be the environment's proxy.
        if usesEnvironment { return false }
        // As libcurl reads it, which compares what it has read.
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
