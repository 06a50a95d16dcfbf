extension OptionTable {
    static let session: [OptionSpec] = [
        OptionSpec(
            .session, "session", value: .session, group: .session,
            help: "Store headers, cookies and credentials under NAME and reuse them, per host. A NAME with a slash is "
                + "a file. Headers and credentials are only sent to the server that they were stored for.",
            example: "curlew --session ada -a ada:secret example.org"
        ),
        OptionSpec(
            .sessionReadOnly, "session-read-only", value: .session, group: .session,
            help: "Use the session NAME without changing it."
        ),
        OptionSpec(
            .auth, "auth", short: "a", value: .text("USER:PASSWORD"), group: .session,
            help: "Credentials, or a token with '--auth-type bearer'. The command prompts for a missing password.",
            example: "curlew -A bearer -a TOKEN example.org"
        ),
        OptionSpec(
            .authType, "auth-type", short: "A", value: .choice("TYPE", AuthScheme.allCases.map(\.rawValue)),
            group: .session, help: "How to authenticate. The default is basic."
        ),
        OptionSpec(.ignoreNetrc, "ignore-netrc", group: .session, help: "Do not read credentials from ~/.netrc."),
    ]

    static let cache: [OptionSpec] = [
        OptionSpec(
            .cache, "cache", value: .file("DIR"), group: .cache,
            help: "Store responses in the directory DIR, created if it is missing, and reuse them as HTTP allows. "
                + "'curlew cache list DIR' shows them."
        ),
        OptionSpec(
            .cachePolicy, "cache-policy", value: .choice("POLICY", CachePolicyChoice.allCases.map(\.rawValue)),
            group: .cache,
            help:
                "How --cache is used: by the rules of HTTP (default), replace the stored response (reload), ask whether it "
                + "is still valid (revalidate), use it at any age (prefer-cache), or never ask the server (only-cache)."
        ),
    ]

    static let network: [OptionSpec] = [
        OptionSpec(.follow, "follow", short: "F", group: .network, help: "Follow redirects."),
        OptionSpec(
            .maxRedirects, "max-redirects", value: .text("N"), group: .network,
            help: "Follow at most N redirects. The default is 30."
        ),
        OptionSpec(
            .timeout, "timeout", value: .text("TIME"), group: .network,
            help: "Give up when the server is silent for this long: seconds, or 500ms, 2m. 0 is no limit. "
                + "The default is 60 seconds."
        ),
        OptionSpec(
            .connectTimeout, "connect-timeout", value: .text("TIME"), group: .network,
            help: "Give up when there is no connection after this long. The default is 10 seconds."
        ),
        OptionSpec(
            .checkStatus, "check-status", group: .network,
            help: "Exit with 3, 4 or 5 if the final status is 3xx, 4xx or 5xx. Downloads always do this."
        ),
        OptionSpec(
            .retry, "retry", value: .text("N"), group: .network,
            help: "Retry up to N times after a temporary failure, with growing pauses. Retry-After is obeyed."
        ),
        OptionSpec(
            .limitRate, "limit-rate", value: .text("RATE"), group: .network,
            help: "Send and receive at most this many bytes per second: 100k, 1.5M."
        ),
        OptionSpec(
            .proxy, "proxy", value: .text("URL"), group: .network,
            help: "Use this proxy: http, https, socks4, socks4a, socks5, socks5h. 'none' uses no proxy; the "
                + "default comes from the environment (http_proxy, https_proxy, all_proxy, no_proxy).",
            example: "curlew --proxy socks5h://localhost:1080 example.org"
        ),
        OptionSpec(
            .httpVersion, "http-version", value: .choice("VERSION", HTTPVersionChoice.allCases.map(\.rawValue)),
            group: .network,
            help: "Use this HTTP version. '2-prior-knowledge' uses HTTP/2 without negotiation, also without TLS."
        ),
        OptionSpec(
            .resolve, "resolve", value: .text("HOST:PORT:ADDRESS"), group: .network,
            help: "Connect to ADDRESS for this host and port. May be given several times.",
            example: "curlew --resolve example.org:443:127.0.0.1 https://example.org"
        ),
        OptionSpec(
            .unixSocket, "unix-socket", value: .file("PATH"), group: .network,
            help: "Connect to this Unix socket instead of a host."
        ),
        OptionSpec(.ipv4, "ipv4", short: "4", group: .network, help: "Use IPv4 addresses only."),
        OptionSpec(.ipv6, "ipv6", short: "6", group: .network, help: "Use IPv6 addresses only."),
        OptionSpec(
            .https, "https", group: .network,
            help: "Use https for URLs without a scheme. The name 'curlews' does the same.",
            example: "curlew --https example.org"
        ),
        OptionSpec(
            .defaultScheme, "default-scheme", value: .suggestion("SCHEME", ["http", "https", "ws", "wss"]),
            group: .network,
            help: "Use this scheme for URLs without a scheme. The default is http."
        ),
        OptionSpec(.pathAsIs, "path-as-is", group: .network, help: "Keep '/../' and '/./' in the URL's path."),
    ]

    static let tls: [OptionSpec] = [
        OptionSpec(
            .verify, "verify", value: .suggestion("HOW", ["yes", "no"]), group: .tls,
            help: "'no' skips the check of the server's certificate; a path names the certificates to trust "
                + "(PEM file or directory).",
            example: "curlew --verify=ca.pem https://localhost"
        ),
        OptionSpec(
            .ssl, "ssl", value: .choice("VERSION", TLSVersionChoice.allCases.map(\.rawValue)), group: .tls,
            help: "Use this TLS version and no other."
        ),
        OptionSpec(
            .ciphers, "ciphers", value: .text("LIST"), group: .tls, help: "Ciphers for TLS 1.2, in OpenSSL's notation."
        ),
        OptionSpec(.cert, "cert", value: .file(), group: .tls, help: "Client certificate (PEM)."),
        OptionSpec(
            .certKey, "cert-key", value: .file(), group: .tls,
            help: "Private key of the client certificate, if it is not in the same file."
        ),
        OptionSpec(
            .certKeyPass, "cert-key-pass", value: .text("PASSPHRASE"), group: .tls,
            help: "Passphrase of the private key."
        ),
        OptionSpec(
            .pin, "pin", value: .text("sha256//BASE64"), group: .tls,
            help: "Accept only a server with this public key. May be given several times."
        ),
    ]

    static let general: [OptionSpec] = [
        OptionSpec(
            .ignoreStdin, "ignore-stdin", short: "I", group: .general,
            help: "Do not read standard input. For scripts, cron and containers."
        ),
        OptionSpec(
            .debug, "debug", group: .general,
            help: "Show on standard error which versions, settings and default options are used, and every step of the "
                + "exchange. Credentials are left out."
        ),
        OptionSpec(.help, "help", group: .general, help: "Show this text. 'curlew help TOPIC' explains a topic."),
        OptionSpec(
            .version, "version", group: .general, help: "Show the version, libcurl's version, and libcurl's features."
        ),
    ]
}
