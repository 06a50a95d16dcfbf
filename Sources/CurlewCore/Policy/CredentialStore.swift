package import Foundation

/// Where credentials are valid: an origin, and a realm of it (RFC 9110, 11.5).
package struct ProtectionSpace: Sendable, Hashable {
    package let origin: String
    package let realm: String

    /// nil for what is no http or https URL.
    package init?(_ url: URL, realm: String) {
        guard let origin = Self.origin(of: url) else { return nil }
        self.origin = origin
        self.realm = realm
    }

    /// Scheme, host and port, the latter also where it goes without saying.
    static func origin(of url: URL) -> String? {
        guard let scheme = url.scheme?.lowercased(), let host = url.host(percentEncoded: true)?.lowercased(),
            scheme == "http" || scheme == "https"
        else { return nil }
        return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
    }
}

/// The credentials that servers of one session have accepted, by protection space.
package struct CredentialStore: Sendable {
    private struct Entry: Sendable {
        var authentication: TransferAuthentication
        /// Folders in which requests were asked for these credentials: what lies in or below them is in the space
        /// (RFC 7617, 2.2).
        var folders: [String]
        var used: UInt64
    }

    private var entries: [ProtectionSpace: Entry] = [:]
    private var clock: UInt64 = 0

    /// Most protection spaces, and most folders of one: the ones that were not used for longest go.
    private static let capacity = 256
    private static let folderCapacity = 32

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// The server has accepted `authentication` after these challenges.
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

    /// What a request can carry before it is asked: credentials of the space that its path lies in.
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

    /// What answers a challenge.
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

    /// The server has refused what it was given.
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

    /// The spaces of a response's challenges that a password can answer, the strongest scheme first, as libcurl
    /// chooses. Schemes that authenticate a connection have no realm.
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

    /// The path up to and with its last slash.
    private static func folder(of url: URL) -> String {
        let path = path(of: url)
        return String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
