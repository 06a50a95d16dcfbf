internal import CurlewCore
internal import Foundation

/// Separates responses of one URL that must not be served to each other's requests: `CacheKey.partition`.
///
/// A partition is a digest of
/// - the session's guards: every setting that decides which servers may answer and how they are reached,
/// - the proxy that was chosen for the request, and its `Host` field,
/// - in a private cache, the request's credentials and those that libcurl adds.
///
/// Only what differs from the defaults is digested. The partition of a session with default settings and of a request
/// without credentials is empty, so that programs with equal settings share a store. The guards are digested when the
/// session is made: later changes of files and of the environment have no effect.
struct CachePartitions: Sendable {
    private let guards: PartitionText
    private let proxy: PartitionText
    private let netrc: PartitionText
    private let environment: PartitionText
    /// The partition of nearly all requests without credentials, by the cache's mode.
    private let usual: (private: String, shared: String)
    /// Whether libcurl reads a netrc file. Its credentials are in no field, and not in a shared cache's partitions.
    private let readsNetrc: Bool
    /// Whether the session has a client certificate. It is one of the guards.
    private let hasClientIdentity: Bool
    private let sensitiveHeaders: [String]

    /// `trustManager` is the identity of the session's server trust manager. `otherGuards` are those that the session's
    /// transport sets in another way than the configuration. Their values are unknown, so the session shares no
    /// responses.
    init(
        _ configuration: SessionConfiguration,
        evaluatedBy trustManager: String?,
        over otherGuards: TransportGuards = [],
        environment variables: [String: String] = ProcessInfo.processInfo.environment
    ) {
        environment = PartitionText(proxiesOf: variables)
        proxy = PartitionText(configuration.proxy, environment)
        // Digested once, because it is a part of many partitions.
        let file = PartitionText(configuration.netrc, home: variables["HOME"])
        netrc = file.isEmpty ? file : PartitionText("netrc", [file.digest])
        // Digested once, because the guards can be long and are a part of many partitions.
        var all = PartitionText(guardsOf: configuration, trustManager)
        if !otherGuards.isEmpty { all = all + PartitionText("transport", [CacheDigest.newIdentifier()]) }
        guards = all.isEmpty ? all : PartitionText("guards", [all.digest])
        usual = ((guards + proxy + netrc).digest, (guards + proxy).digest)
        if case .ignored = configuration.netrc { readsNetrc = false } else { readsNetrc = true }
        hasClientIdentity = configuration.tls.clientIdentity != nil
        sensitiveHeaders = configuration.redirects.sensitiveHeaders
    }

    /// Returns the facts about an outgoing request by which a cache decides.
    func cacheRequest(_ request: TransferRequest, mode: CacheMode) -> CacheRequest {
        let options = request.options
        let fields = RequestCacheFields(request.headers, request.defaultHeaders?.headers, secrets: sensitiveHeaders)
        let isPrivate = mode == .private
        return CacheRequest(
            url: request.url,
            method: request.method,
            headers: request.headers,
            defaults: request.defaultHeaders?.headers,
            policy: options.cache?.policy ?? .useProtocol,
            decodesContent: options.decodesContent,
            partition: partition(of: request, fields, isPrivate: isPrivate),
            hasCredentials: readsNetrc || hasClientIdentity || options.hasAuthentication,
            hidesCredentials: !isPrivate && (readsNetrc || options.hasAuthentication),
            fields: fields
        )
    }

    private func partition(of request: TransferRequest, _ fields: RequestCacheFields, isPrivate: Bool) -> String {
        let options = request.options
        let hasCredentials = isPrivate && (fields.hasCredentials || options.hasAuthentication)
        guard hasCredentials || fields.hasHost || options.proxy != nil else {
            return isPrivate ? usual.private : usual.shared
        }
        var text = guards + (options.proxy.map { PartitionText($0, environment) } ?? proxy)
        if isPrivate { text = text + netrc }
        let headers = request.effectiveHeaders
        if fields.hasHost { text = text + PartitionText(hostIn: headers, of: request.url) }
        if hasCredentials {
            text = text + PartitionText(secretsIn: headers, and: sensitiveHeaders)
            if let authentication = options.authentication { text = text + PartitionText(authentication) }
        }
        return text.digest
    }
}

/// Facts as an unambiguous text: the length of each value precedes it.
private struct PartitionText: Sendable {
    private var text = ""

    init() {}

    init(_ name: String, _ values: [String]) { add(name, values) }

    var isEmpty: Bool { text.isEmpty }

    /// The digest of the text; empty without facts.
    var digest: String { text.isEmpty ? "" : CacheDigest.name(of: text) }

    static func + (one: PartitionText, other: PartitionText) -> PartitionText {
        var sum = one
        sum.text += other.text
        return sum
    }

    private mutating func add(_ name: String, _ values: [String]) {
        text += name
        for value in values { text += " \(value.utf8.count):\(value)" }
        text += "\n"
    }

    private mutating func add(_ name: String, _ value: String?) {
        if let value { add(name, [value]) }
    }
}

// MARK: Guards

extension PartitionText {
    /// The rules that decide which servers may answer and how they are reached, except for the proxy.
    init(guardsOf configuration: SessionConfiguration, _ trustManager: String?) {
        switch configuration.addressPolicy {
        case .any: break
        case .publicOnly: add("addresses: public", [])
        case .publicOnlyBehind(let proxies): add("addresses: public behind", proxies.map(\.absoluteString).sorted())
        }
        add("socket", configuration.unixSocketPath)
        add("interface", configuration.interface)
        add("local address", configuration.localAddress)
        for (name, addresses) in configuration.dns.overrides.sorted(by: { $0.key < $1.key }) {
            add("override", [name] + addresses)
        }
        add("resolver", configuration.dns.dohURL?.absoluteString)
        // A custom resolver is code, which can be compared by identity only.
        add("own resolver", configuration.dns.ownResolver?.identity)
        if !configuration.dns.servers.isEmpty { add("name servers", configuration.dns.servers) }
        if configuration.dns.ipVersion != .any { add("addresses of", "\(configuration.dns.ipVersion)") }
        addTLS(configuration.tls)
        // Evaluators are user code, which cannot be compared.
        add("trust manager", trustManager)
    }

    private mutating func addTLS(_ tls: TLSConfiguration) {
        let usual = TLSConfiguration()
        if tls.minimumVersion != usual.minimumVersion { add("oldest", "\(tls.minimumVersion)") }
        add("newest", tls.maximumVersion.map { "\($0)" })
        switch tls.trustRoots {
        case .system: break
        case .pem(let data): add("roots", data.base64EncodedString())
        case .file(let url): add("roots", [url.absoluteString] + Self.content(of: url))
        case .directory(let url): add("roots", [url.absoluteString] + Self.contents(ofDirectory: url))
        }
        switch tls.certificateVerification {
        case .full: break
        case .noHostnameVerification: add("verification: chain", [])
        case .none: add("verification: none", [])
        }
        switch tls.clientIdentity {
        case nil: break
        case .pem(let certificate, _, _): add("identity", certificate.base64EncodedString())
        case .pkcs12(let container, _): add("identity", container.base64EncodedString())
        case .files(let certificate, _, _):
            add("identity", [certificate.absoluteString] + Self.content(of: certificate))
        }
        if !tls.publicKeyPins.isEmpty { add("pins", Set(tls.publicKeyPins).sorted()) }
        add("ciphers", tls.cipherList)
        add("cipher suites", tls.tls13CipherSuites)
        for (name, other) in tls.connectTo.sorted(by: { $0.key < $1.key }) { add("connection", [name, other]) }
        if let list = tls.certificateRevocationList {
            add("revoked", [list.absoluteString] + Self.content(of: list))
        }
        if tls.requiresOCSPStapling { add("stapling", []) }
    }

    /// The content of a file; empty if there is none. Only regular files are read: a pipe can be read only once, and
    /// libcurl has to read it.
    private static func content(of url: URL) -> [String] {
        let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
        guard values?.isRegularFile == true, let data = try? Data(contentsOf: url) else { return [] }
        return [data.base64EncodedString()]
    }

    private static func contents(ofDirectory url: URL) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return names.sorted().flatMap { [$0] + content(of: url.appending(path: $0)) }
    }
}

// MARK: Proxy

extension PartitionText {
    /// Empty for a direct connection, whether the proxy is `.none` or the environment names none.
    init(_ proxy: Proxy, _ environment: PartitionText) {
        switch proxy {
        case .none: break
        case .environment: self = environment
        case .url(let url, let username, let password, let exclusions):
            add("proxy", [url.absoluteString, username ?? "", password ?? ""] + exclusions)
        }
    }

    /// The environment variables that curl reads.
    init(proxiesOf environment: [String: String]) {
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        guard names.contains(where: { environment[$0]?.isEmpty == false }) else { return }
        for name in names + ["no_proxy", "NO_PROXY"] { add(name, environment[name]) }
    }
}

// MARK: Credentials and hosts

extension PartitionText {
    /// The netrc file that libcurl reads credentials from; empty if it does not exist.
    init(_ netrc: Netrc, home: String?) {
        let file: URL
        switch netrc {
        case .ignored: return
        case .optional:
            let folder = home.map { URL(filePath: $0) } ?? FileManager.default.homeDirectoryForCurrentUser
            file = folder.appending(path: ".netrc")
        case .file(let url): file = url
        }
        let content = Self.content(of: file)
        if !content.isEmpty {
            add("netrc", content)
        } else if FileManager.default.fileExists(atPath: file.path) {
            add("netrc at", file.absoluteString)
        }
    }

    /// The fields with secret names, by name; the values of one name keep their order.
    init(secretsIn headers: HTTPHeaders, and others: [String]) {
        let names = Set(
            headers.map { ASCII.lowercased($0.name) }.filter { RequestCacheFields.isSecret($0, or: others) })
        for name in names.sorted() { add("field", [name] + headers.values(for: name)) }
    }

    init(_ authentication: TransferAuthentication) {
        let (username, password) = (authentication.username, authentication.password)
        add("authentication", ["\(authentication.scheme)", username, password])
        switch authentication.scheme {
        case .negotiate: add("process", Self.process)
        // Without a user name, only a Kerberos ticket can answer a challenge.
        case .any where username.isEmpty: add("process", Self.process)
        case .any, .basic, .digest, .ntlm, .bearer, .awsSigV4: break
        }
    }

    /// Kerberos authenticates with the process's ticket, whose owner is unknown here. Other processes must not share
    /// the responses.
    private static let process = CacheDigest.newIdentifier()

    /// The host that a `Host` field names; empty if it is the URL's.
    init(hostIn headers: HTTPHeaders, of url: URL) {
        guard let host = headers.combinedValue(for: "Host").map(ASCII.lowercased) else { return }
        // The origin has the form `https://example.org/`. The field is compared as it is sent: a URL made from it would
        // lose everything from `#` or `/` on.
        let authority = CacheKey(url: url).origin.dropFirst((url.scheme?.utf8.count ?? 0) + 3).dropLast()
        // The colons of an IPv6 address are inside brackets.
        let hasPort = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...].contains(":")
        let port = ASCII.lowercased(url.scheme ?? "") == "https" ? 443 : 80
        if host != authority, hasPort || host != "\(authority):\(port)" { add("host", host) }
    }
}

/// Names for texts that must not be stored themselves.
enum CacheDigest {
    /// SHA-256 in hexadecimal digits.
    static func name(of text: String) -> String {
        // A libcrypto without SHA-256 supports no TLS either. A unique name makes every lookup a miss.
        Digest.hex(.sha256, of: text) ?? newIdentifier()
    }

    /// 32 random hexadecimal digits, which identify an entry.
    static func newIdentifier() -> String {
        let numbers = [UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)]
        return Checksum.hex(
            numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } })
    }
}
