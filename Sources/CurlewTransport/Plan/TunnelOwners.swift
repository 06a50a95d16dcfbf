internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// With which credentials tunnels through a proxy are kept for later requests.
///
/// libcurl takes any tunnel through the same proxy, whatever credentials opened it. So only those that came first keep theirs;
/// requests with others get a connection of their own.
final class TunnelOwners: Sendable {
    private struct Credentials: Equatable {
        var username: String?
        var password: String?
    }

    private let owners = Lock<[String: Credentials]>([:])

    /// None is forgotten, because its tunnels may still stand: a proxy beyond these has none to share.
    private static let most = 4096

    init(_ proxy: Proxy) { _ = mayShare(proxy) }

    /// Whether requests through the proxy may use tunnels of earlier ones, and leave theirs.
    func mayShare(_ proxy: Proxy) -> Bool {
        guard case .url(let url, let username, let password, _) = proxy,
            let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https"
        else { return true }
        let name = "\(scheme)://\(url.host()?.lowercased() ?? ""):\(url.port ?? 0)"
        let own = Credentials(username: username ?? url.user(), password: password ?? url.password())
        return owners.withLock { owners in
            if let known = owners[name] { return known == own }
            guard owners.count < Self.most else { return false }
            owners[name] = own
            return true
        }
    }
}
