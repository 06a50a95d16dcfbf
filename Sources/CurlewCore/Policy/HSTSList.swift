package import Foundation

/// The hosts that have asked to be reached by https only (RFC 6797). A value type; the time is passed in.
package struct HSTSList: Sendable, Hashable, Codable {
    /// The policy of one host.
    package struct Entry: Sendable, Hashable, Codable {
        /// The date at which the policy expires.
        package var expires: Date
        /// Whether the policy also applies to subdomains.
        package var includesSubdomains: Bool
        /// The expiry that was last reported as a change. Later announcements are compared with it.
        fileprivate var announced: Date

        package init(expires: Date, includesSubdomains: Bool) {
            self.expires = expires
            self.includesSubdomains = includesSubdomains
            announced = expires
        }

        private enum CodingKeys: String, CodingKey { case expires, includesSubdomains }

        package init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                expires: try fields.decode(Date.self, forKey: .expires),
                includesSubdomains: try fields.decode(Bool.self, forKey: .includesSubdomains))
        }
    }

    /// The entries by canonical host name.
    package private(set) var entries: [String: Entry]
    /// The maximum number of hosts. Above it, the entries that expire first are removed.
    package let limit: Int

    /// An announcement that shifts the expiry by less than this, and by less than a tenth of `max-age`, is not reported
    /// as a change. A host sends the header with every response, and each one moves the expiry a little.
    package static let renewal: TimeInterval = 3600

    /// Creates a list of at most `limit` hosts.
    package init(entries: [String: Entry] = [:], limit: Int = 10_000) {
        self.entries = entries
        self.limit = limit
    }

    /// Records the `Strict-Transport-Security` field of a response from `url`.
    ///
    /// Only a host that is reached by https can set a policy, and an IP address cannot. The first of several fields
    /// counts. Returns whether the change is large enough to be written to a file.
    @discardableResult
    package mutating func receive(_ headers: HTTPHeaders, from url: URL, at now: Date) -> Bool {
        guard url.scheme?.lowercased() == "https", let value = headers.value(for: "Strict-Transport-Security"),
            let policy = StrictTransportSecurity(value), let host = Hostname.canonical(of: url),
            IPAddress(host) == nil
        else { return false }
        guard policy.maxAge > 0 else { return entries.removeValue(forKey: host) != nil }
        let lifetime = Double(policy.maxAge)
        var entry = Entry(
            expires: now.addingTimeInterval(lifetime), includesSubdomains: policy.includesSubdomains)
        if let known = entries[host], known.includesSubdomains == entry.includesSubdomains,
            abs(entry.expires.timeIntervalSince(known.announced)) < min(Self.renewal, lifetime / 10)
        {
            // The entry in memory gets the new expiry, but the change is too small to report.
            entry.announced = known.announced
            entries[host] = entry
            return false
        }
        entries[host] = entry
        makeRoom(at: now)
        return true
    }

    private mutating func makeRoom(at now: Date) {
        guard entries.count > limit else { return }
        removeExpired(at: now)
        while entries.count > limit, let first = entries.min(by: { $0.value.expires < $1.value.expires }) {
            entries[first.key] = nil
        }
    }

    /// Whether `host` must be reached by https.
    package func contains(_ host: String, at now: Date) -> Bool {
        guard let host = Hostname.canonical(host), IPAddress(host) == nil else { return false }
        return Hostname.withParents(host).contains { name in
            guard let entry = entries[name], entry.expires > now else { return false }
            return name == host || entry.includesSubdomains
        }
    }

    /// Returns `url` with https instead of http if its host is in the list. Port 80 becomes the default port of https;
    /// any other port stays. Throws `.invalidURL` if the URL cannot be changed, because it must not be requested by
    /// http.
    package func upgraded(_ url: URL, at now: Date) throws(CurlewError) -> URL {
        guard url.scheme?.lowercased() == "http", let host = Hostname.canonical(of: url), contains(host, at: now)
        else { return url }
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.scheme = "https"
        if parts?.port == 80 { parts?.port = nil }
        guard let secure = parts?.url else {
            throw CurlewError(
                .invalidURL, phase: .creation, reason: "the host requires https (HSTS), which the URL cannot use",
                url: url)
        }
        return secure
    }

    package mutating func removeExpired(at now: Date) { entries = entries.filter { $0.value.expires > now } }

    package mutating func removeAll() { entries = [:] }
}

/// The value of a `Strict-Transport-Security` header field.
package struct StrictTransportSecurity: Sendable, Equatable {
    /// In seconds; a larger value than `DeltaSeconds.maximum` is reduced to it.
    package let maxAge: Int64
    package let includesSubdomains: Bool

    /// `nil` if the syntax is invalid, a directive occurs twice, or `max-age` is missing. The field must be ignored
    /// then.
    package init?(_ value: String) {
        var scanner = ByteScanner(value)
        var seen: Set<String> = []
        var maxAge: Int64?
        var includesSubdomains = false
        repeat {
            scanner.skip(while: ASCII.isBlank)
            let name = ASCII.lowercased(String(decoding: scanner.take(while: ASCII.isTokenByte), as: UTF8.self))
            scanner.skip(while: ASCII.isBlank)
            if name.isEmpty { continue }
            var argument: String?
            if scanner.skip("=") {
                guard let text = Self.argument(&scanner) else { return nil }
                argument = text
            }
            guard seen.insert(name).inserted else { return nil }
            switch name {
            case "max-age":
                guard let seconds = argument.flatMap(DeltaSeconds.parse) else { return nil }
                maxAge = seconds
            case "includesubdomains":
                guard argument == nil else { return nil }
                includesSubdomains = true
            default: break
            }
        } while scanner.skip(";")
        guard scanner.isAtEnd, let maxAge else { return nil }
        self.maxAge = maxAge
        self.includesSubdomains = includesSubdomains
    }

    private static func argument(_ scanner: inout ByteScanner) -> String? {
        scanner.skip(while: ASCII.isBlank)
        defer { scanner.skip(while: ASCII.isBlank) }
        if scanner.peek == UInt8(ascii: "\"") {
            let (value, isClosed) = scanner.quotedString()
            return isClosed ? String(decoding: value, as: UTF8.self) : nil
        }
        let token = scanner.take(while: ASCII.isTokenByte)
        return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
    }
}
