package import Foundation

/// The scope of credentials: an origin and one of its realms (RFC 9110, 11.5).
package struct ProtectionSpace: Sendable, Hashable {
    package let origin: String
    package let realm: String

    /// `nil` if `url` is not an http or https URL.
    package init?(_ url: URL, realm: String) {
        guard let origin = Self.origin(of: url) else { return nil }
        self.origin = origin
        self.realm = realm
    }

    /// Returns scheme, host and port, including the default port; `nil` if `url` is not an http or https URL.
    static func origin(of url: URL) -> String? {
        guard let scheme = url.scheme?.lowercased(), let host = url.host(percentEncoded: true)?.lowercased(),
            scheme == "http" || scheme == "https"
        else { return nil }
        return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
    }
}

/// The credentials that servers have accepted in one session, by protection space.
package struct CredentialStore: Sendable {
    private struct Entry: Sendable {
        var authentication: TransferAuthentication
        /// The folders of the requests for which these credentials were accepted. Everything below such a folder is in
        /// the same protection space (RFC 7617, 2.2).
        var folders: [String]
        var used: UInt64
    }

    private var entries: [ProtectionSpace: Entry] = [:]
    private var clock: UInt64 = 0

    /// The maximum number of protection spaces, and of folders in one of them. The least recently used space and the
    /// oldest folder are removed.
    private static let capacity = 256
    private static let folderCapacity = 32

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// Stores `authentication`, which the server has accepted after the challenges in `head`.
    package mutating func accepted(_ authentication: TransferAuthentication, for url: URL, after head: ResponseHead) {
        guard let (space, scheme) = Self.answerable(head, url).first else { return }
        clock += 1
        var kept = authentication
        kept.scheme = scheme
        let folder = Self.folder(of: url)
        var entry = entries[space] ?? Entry(authentication: kept, folders: [], used: clock)
        entry.authentication = kept
        entry.used = clock
        entry.folders.removeAll { $0.hasPrefix(folder) }
        if !entry.folders.contains(where: { folder.hasPrefix($0) }) { entry.folders.append(folder) }
        if entry.folders.count > Self.folderCapacity { entry.folders.removeFirst() }
        entries[space] = entry
        guard entries.count > Self.capacity, let oldest = entries.min(by: { $0.value.used < $1.value.used }) else {
            return
        }
        entries[oldest.key] = nil
    }

    /// Returns the credentials to send with a request before any challenge: those of the space that contains its path.
    /// The deepest matching folder decides.
    package mutating func expected(by url: URL, onlyBasic: Bool = false) -> TransferAuthentication? {
        guard !entries.isEmpty, let origin = ProtectionSpace.origin(of: url) else { return nil }
        let path = Self.path(of: url)
        var best: (space: ProtectionSpace, length: Int)?
        for (space, entry) in entries where space.origin == origin {
            if onlyBasic, entry.authentication.scheme != .basic { continue }
            for folder in entry.folders where path.hasPrefix(folder) && folder.utf8.count > best?.length ?? -1 {
                best = (space, folder.utf8.count)
            }
        }
        return best.flatMap { use($0.space) }
    }

    /// Returns stored credentials for one of the challenges in `head`; `nil` if there are none.
    package mutating func answer(
        to head: ResponseHead, for url: URL, onlyBasic: Bool = false
    ) -> TransferAuthentication? {
        guard !entries.isEmpty, head.status == 401 else { return nil }
        for (space, scheme) in Self.answerable(head, url) where !onlyBasic || scheme == .basic {
            guard var authentication = use(space) else { continue }
            authentication.scheme = scheme
            return authentication
        }
        return nil
    }

    /// Removes credentials that the server has refused, from every space of the origin.
    package mutating func refused(_ authentication: TransferAuthentication, for url: URL) {
        guard let origin = ProtectionSpace.origin(of: url) else { return }
        entries = entries.filter { space, entry in
            space.origin != origin || entry.authentication.username != authentication.username
                || entry.authentication.password != authentication.password
        }
    }

    private mutating func use(_ space: ProtectionSpace) -> TransferAuthentication? {
        guard entries[space] != nil else { return nil }
        clock += 1
        entries[space]?.used = clock
        return entries[space]?.authentication
    }

    /// Returns the spaces of the challenges that a password can answer, the strongest scheme first, in libcurl's order.
    /// NTLM and Negotiate are missing: they authenticate a connection and have no realm.
    private static func answerable(
        _ head: ResponseHead,
        _ url: URL
    ) -> [(ProtectionSpace, TransferAuthentication.Scheme)] {
        let challenges = AuthenticationChallenge.parse(head.headers.values(for: "WWW-Authenticate"))
        return [("digest", TransferAuthentication.Scheme.digest), ("basic", .basic)].flatMap { name, scheme in
            challenges.filter { ASCII.equalsIgnoringCase($0.scheme, name) }.compactMap { challenge in
                ProtectionSpace(url, realm: challenge.realm ?? "").map { ($0, scheme) }
            }
        }
    }

    private static func path(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }

    /// Returns the path up to and including its last slash.
    private static func folder(of url: URL) -> String {
        let path = path(of: url)
        return String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
