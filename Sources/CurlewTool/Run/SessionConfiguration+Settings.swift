internal import Curlew
internal import Foundation

extension SessionConfiguration {
    /// Makes the configuration from the command line's settings.
    init(_ preparation: Preparation) throws(UsageError) {
        let invocation = preparation.invocation
        let suppressed = preparation.plan.suppressedHeaders
        self.init()
        cookies = preparation.jar
        // The plan contains every field, because the command shows exactly the fields that it sends.
        headers = [:]
        if suppressed.contains("accept-encoding") { acceptedEncodings = [] }
        if suppressed.contains("accept") { addsAccept = false }
        apply(invocation.network, isLive: invocation.output.isStreaming)
        // Stored headers are for one origin, whatever their names: a redirect to another origin must not carry them.
        redirects.sensitiveHeaders += preparation.stored.headers.map(\.name)
        try Self.checkSocket(invocation.network.unixSocket)
        let atOnce = max(invocation.download?.segments ?? 1, invocation.concurrency ?? 1)
        maximumConnectionsPerHost = max(maximumConnectionsPerHost, atOnce)
        // Each host can keep its connections: none is closed to make room for one to another host.
        let hosts = Set(invocation.urls.map { URLParts($0).authority })
        maximumConnections = max(maximumConnections, atOnce * hosts.count)
        if invocation.repeats {
            // Each request is sent as it is written. A response must not change the scheme of another URL's requests
            // (HSTS), or lead them to a host that the command line does not name (Alt-Svc).
            hsts = nil
            alternativeServices = nil
        }
        try apply(invocation.network.proxy)
        try apply(invocation.tls)
        if preparation.auth == nil, !invocation.network.ignoresNetrc { netrc = .optional }
    }

    private mutating func apply(_ network: NetworkSettings, isLive: Bool) {
        switch network.timeout {
        case .some(let time):
            timeouts.firstByte = time
            timeouts.idle = time
            timeouts.queue = time
        case nil:
            // A live stream may be silent for any time.
            if isLive { timeouts.idle = nil }
        }
        if case .some(let time) = network.connectTimeout { timeouts.connect = time }
        keepsDotSegments = network.keepsPath
        redirects.limit = network.maximumRedirects
        if let rate = network.requestRate {
            // All hosts share the rate. It is the user's: what a server announces does not change it.
            var limit = RateLimit.requests(rate.count, per: rate.period, burst: rate.burst, per: .session)
            limit.followsServer = false
            resilience.rateLimit = limit
            // The wait for the rate has no limit, because a slow rate is what the user asked for.
            timeouts.queue = nil
        }
        uploadRateLimit = network.rateLimit
        downloadRateLimit = network.rateLimit
        unixSocketPath = network.unixSocket.map(InputFile.expanded)
        dns.overrides = network.overrides
        switch network.httpVersion {
        case nil: break
        case .http1_1: httpVersion = .http1_1
        case .http2: httpVersion = .http2
        case .http2PriorKnowledge: httpVersion = .http2PriorKnowledge
        case .http3: httpVersion = .http3
        }
        switch network.family {
        case nil: break
        case .v4: dns.ipVersion = .v4
        case .v6: dns.ipVersion = .v6
        }
    }

    private static func checkSocket(_ path: String?) throws(UsageError) {
        guard let path else { return }
        var info = stat()
        guard stat(InputFile.expanded(path), &info) == 0 else {
            // A socket that cannot be inspected may still accept connections.
            guard errno == ENOENT || errno == ENOTDIR else { return }
            throw UsageError("--unix-socket: there is no socket \(path)", hint: "Is its server running?")
        }
        guard info.st_mode & S_IFMT == S_IFSOCK else { throw UsageError("--unix-socket: \(path) is not a socket") }
    }

    private mutating func apply(_ setting: NetworkSettings.ProxySetting?) throws(UsageError) {
        switch setting {
        case nil: proxy = .environment
        case .some(.none): proxy = .none
        case .url(var text):
            let credentials = URLCredentials.take(from: &text)
            guard let url = URL(string: text), url.host?.isEmpty == false else {
                throw UsageError("--proxy: '\(text)' is not a URL")
            }
            proxy = .url(url, username: credentials?.username, password: credentials?.secret)
        }
    }

    /// Whether the file contains a private key. Also true if the file cannot be read, so that libcurl reports the
    /// error.
    private static func hasKey(_ path: String) -> Bool {
        guard let text = (try? InputFile.read(path)).map({ String(decoding: $0, as: UTF8.self) }) else { return true }
        return text.contains("PRIVATE KEY-----")
    }

    private mutating func apply(_ settings: TLSSettings) throws(UsageError) {
        switch settings.verification {
        case .system: break
        case .none: tls.certificateVerification = .none
        case .path(let path):
            var isDirectory: ObjCBool = false
            let expanded = InputFile.expanded(path)
            guard FileManager.default.fileExists(atPath: expanded, isDirectory: &isDirectory) else {
                throw UsageError("--verify: there is no file \(path)", hint: "Or write yes or no.")
            }
            let url = URL(filePath: expanded)
            tls.trustRoots = isDirectory.boolValue ? .directory(url) : .file(url)
        }
        if let version = settings.version {
            let chosen: TLSVersion =
                switch version {
                case .v1_0: .v1_0
                case .v1_1: .v1_1
                case .v1_2: .v1_2
                case .v1_3: .v1_3
                }
            tls.minimumVersion = chosen
            tls.maximumVersion = chosen
        }
        tls.cipherList = settings.ciphers
        tls.publicKeyPins = settings.pins
        if let certificate = settings.certificate {
            let key = settings.key ?? certificate
            for path in [certificate, key] where !InputFile.exists(InputFile.expanded(path)) {
                throw UsageError("there is no file \(path)")
            }
            guard Self.hasKey(key) else {
                throw UsageError(
                    "there is no private key in \(key)",
                    hint: settings.key == nil ? "Name the file that has it: --cert-key=FILE." : "It has to be PEM.")
            }
            tls.clientIdentity = .files(
                certificate: URL(filePath: InputFile.expanded(certificate)),
                key: URL(filePath: InputFile.expanded(key)),
                passphrase: settings.passphrase
            )
        }
    }
}

extension TransferAuthentication {
    /// `nil` if the scheme is a header field of the plan.
    init?(_ auth: AuthSettings) {
        let scheme: Scheme
        switch auth.scheme {
        case .basic, .bearer: return nil
        case .digest: scheme = .digest
        case .ntlm: scheme = .ntlm
        case .negotiate: scheme = .negotiate
        case .any: scheme = .any
        }
        self.init(scheme: scheme, username: auth.username, password: auth.secret ?? "")
    }
}
