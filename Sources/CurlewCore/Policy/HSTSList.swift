package import Foundation

/// Hosts that have asked to be reached by https only (RFC 6797), as a value with time passed in.
package struct HSTSList: Sendable, Hashable, Codable {
    /// What is known about one host.
    package struct Entry: Sendable, Hashable, Codable {
        /// When it is to be forgotten.
        package var expires: Date
        /// Whether it holds for the names below, too.
        package var includesSubdomains: Bool
        /// The expiry when the host last said something new.
        fileprivate var announced: Date

        /// Makes an entry.
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

    /// By host, lower case.
    public private(set) var entries: [String: Entry]
    /// Most hosts; above that those go that expire first.
    package let limit: Int

    /// A host says the same in each of its responses, and each moves the expiry a little. Up to this much, and a tenth of
    /// `max-age`, that is no news.
    package static let renewal: TimeInterval = 3600

    /// Makes a list, of at most `limit` hosts.
    package init(entries: [String: Entry] = [:], limit: Int = 10_000) {
        self.entries = entries
        self.limit = limit
    }

    /// Takes in the `Strict-Transport-Security` of a response from `url`. Only https may say so, and no IP
    /// address; of several such fields the first counts. Whether it says something new, that a file should have.
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
            // In memory it holds as long as it says.
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

    /// Whether `host` is to be reached by https only.
    package func contains(_ host: String, at now: Date) -> Bool {
        guard let host = Hostname.canonical(host), IPAddress(host) == nil else { return false }
        return Hostname.withParents(host).contains { name in
            guard let entry = entries[name], entry.expires > now else { return false }
            return name == host || entry.includesSubdomains
        }
    }

    /// `url`, with https in the place of http where its host is in the list. Port 80 becomes the default one,
    /// another stays. A URL that has no form with https is `.invalidURL`: it must not go out by http.
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

    /// Forgets the entries that have expired.
    package mutating func removeExpired(at now: Date) { entries = entries.filter { $0.value.expires > now } }

    /// Forgets every entry.
    package mutating func removeAll() { entries = [:] }
}

/// The value of a `Strict-Transport-Security` header.
package struct StrictTransportSecurity: Sendable, Equatable {
    /// Seconds; what is too large is cut.
    package let maxAge: Int64
    package let includesSubdomains: Bool

    /// nil where the grammar is broken, a directive stands twice, or `max-age` is missing: the field is to
    /// be ignored then.
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
