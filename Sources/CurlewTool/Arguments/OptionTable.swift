/// All options of the command, in the order of `--help`.
enum OptionTable {
    static let all: [OptionSpec] =
        body + output + download + session + cache + network + tls + webSocket + repetition
        + general

    static func spec(_ option: Option) -> OptionSpec? { all.first { $0.option == option } }

    static func spec(long name: String) -> OptionSpec? { all.first { $0.names.contains(name) } }

    static func spec(short: Character) -> OptionSpec? { all.first { $0.short == short } }

    private static let body: [OptionSpec] = [
        OptionSpec(
            .json, "json", short: "j", group: .body,
            help: "Send data items as a JSON object, and ask for JSON. This is the default when there are data items."
        ),
        OptionSpec(
            .form, "form", short: "f", group: .body,
            help: "Send data items as a URL-encoded form; as multipart/form-data if there are file items.",
            example: "curlew --form example.org name=Ada photo@ada.jpg"
        ),
        OptionSpec(
            .multipart, "multipart", group: .body,
            help: "Send data items as multipart/form-data, also without file items."
        ),
        OptionSpec(
            .boundary, "boundary", value: .text("TEXT"), group: .body,
            help: "Use this boundary between the parts of a multipart body."
        ),
        OptionSpec(
            .raw, "raw", value: .text("TEXT"), group: .body,
            help: "Send this text unchanged as the body. To send a file, use the item '@FILE' or pipe it into the "
                + "command.",
            example: "curlew example.org --raw 'any text'"
        ),
        OptionSpec(
            .compress, "compress", short: "x", group: .body,
            help: "Send the body with Content-Encoding: deflate if that makes it smaller; given twice, always."
        ),
        OptionSpec(
            .chunked, "chunked", group: .body,
            help: "Send piped input while it arrives, with Transfer-Encoding: chunked."
        ),
    ]

    private static let output: [OptionSpec] = [
        OptionSpec(
            .print, "print", short: "p", value: .text("WHAT"), group: .output,
            help: "What to print: H request head, B request body, h response head, b response body, m metadata. "
                + "The default is 'hb' on a terminal and 'b' otherwise.",
            example: "curlew --print=Hh example.org"
        ),
        OptionSpec(
            .headers, "headers", short: "h", group: .output,
            help: "Print the response head only (--print=h), and do not wait for the body."),
        OptionSpec(.body, "body", short: "b", group: .output, help: "Print the response body only (--print=b)."),
        OptionSpec(.meta, "meta", short: "m", group: .output, help: "Print the metadata only (--print=m)."),
        OptionSpec(
            .verbose, "verbose", short: "v", group: .output,
            help: "Print the whole exchange (--print=HBhb), including each redirect; given twice, metadata too."
        ),
        OptionSpec(.all, "all", group: .output, help: "With --follow, also print the responses that redirected."),
        OptionSpec(
            .pretty, "pretty", value: .choice("HOW", ["all", "colors", "format", "none"]), group: .output,
            help: "Colour and format the output. The default is 'all' on a terminal and 'none' elsewhere.",
            example: "curlew --pretty=all example.org | less -R"
        ),
        OptionSpec(
            .style, "style", short: "s", value: .choice("STYLE", Theme.all.map(\.name)), group: .output,
            help: "The colours. The default is 'auto', the colours of the terminal's own theme.",
            example: "curlew --style=monokai example.org"
        ),
        OptionSpec(
            .formatOptions, "format-options", value: .text("NAME:VALUE,..."), group: .output,
            help: "How to format: headers.sort, json.format, json.indent, json.sort_keys, xml.format (HTML too), "
                + "xml.indent. May be given several times.",
            example: "curlew --format-options=json.indent:2,headers.sort:true example.org"
        ),
        OptionSpec(
            .sorted, "sorted", group: .output,
            help: "Sort header fields and JSON keys. By default they keep the order of the response."),
        OptionSpec(
            .unsorted, "unsorted", group: .output,
            help: "Keep header fields and JSON keys in the order of the response."),
        OptionSpec(
            .responseCharset, "response-charset",
            value: .suggestion("CHARSET", ["utf-8", "iso-8859-1", "shift_jis", "euc-jp", "gbk", "big5", "euc-kr"]),
            group: .output,
            help: "Read the response's text in this charset, whatever its Content-Type says.",
            example: "curlew --response-charset=shift_jis example.org/old.txt"
        ),
        OptionSpec(
            .responseMIME, "response-mime",
            value: .suggestion(
                "TYPE", ["application/json", "application/xml", "text/html", "text/plain", "text/event-stream"]),
            group: .output,
            help: "Format and colour the response as this media type, whatever its Content-Type says.",
            example: "curlew --response-mime=application/json example.org/data"
        ),
        OptionSpec(
            .stream, "stream", short: "S", group: .output,
            help: "Print the body while it arrives: line by line for NDJSON and event streams, flushed at once."
        ),
        OptionSpec(
            .output, "output", short: "o", value: .file(), group: .output,
            help:
                "Write the output to FILE, which is created or emptied when a response arrives. '-' is standard output."
        ),
        OptionSpec(
            .quiet, "quiet", short: "q", group: .output,
            help: "Print only errors and warnings; given twice, only errors."
        ),
        OptionSpec(.offline, "offline", group: .output, help: "Print the request without sending it."),
        OptionSpec(
            .curl, "curl", group: .output, help: "Print a curl command for the same request, without sending it."),
        OptionSpec(
            .har, "har", value: .file(), group: .output,
            help: "Record the exchanges in FILE as HTTP Archive 1.2, which browsers can show. Credentials are left out."
        ),
        OptionSpec(
            .timing, "timing", group: .output,
            help: "Draw the phases of the exchange as bars on standard error: name lookup, connect, TLS, sending, "
                + "waiting, receiving; with --cache also what the cache did."
        ),
    ]

    private static let download: [OptionSpec] = [
        OptionSpec(
            .download, "download", short: "d", group: .download,
            help: "Save the body in a file, with a progress bar. Several URLs are downloaded at the same time."
        ),
        OptionSpec(
            .resume, "continue", short: "c", group: .download,
            help: "Resume an interrupted download of curlew or another program: fetch only the rest of the file."
        ),
        OptionSpec(
            .checksum, "checksum", value: .text("sha256:HEX"), group: .download,
            help:
                "Check the downloaded file: sha256, sha384, sha512, sha1 or md5. On a mismatch, no file is written.",
            example: "curlew -d --checksum sha256:9f86... example.org/disk.img"
        ),
        OptionSpec(
            .segments, "segments", value: .text("N"), group: .download,
            help: "Fetch N parts of the file at the same time, if the server supports ranges."
        ),
    ]
}

extension OptionTable {
    private static let session: [OptionSpec] = [
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

    private static let cache: [OptionSpec] = [
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

    private static let network: [OptionSpec] = [
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
            .rate, "rate", value: .text("N/UNIT"), group: .network,
            help: "Send at most N requests per s, m, h or d, evenly spaced: 50/s, or 3/10s for three in ten seconds. "
                + "Counts every request of the command: all URLs, repetitions and retries.",
            example: "curlew --rate 2/s --download example.org/1 example.org/2"
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

    private static let tls: [OptionSpec] = [
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

    private static let general: [OptionSpec] = [
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

extension OptionTable {
    private static let repetition: [OptionSpec] = [
        OptionSpec(
            .repetitions, "repeat", value: .text("N"), group: .repetition,
            help: "Send the request N times, to each URL if there are several, and print a summary instead of the "
                + "responses: statuses, failures, latencies (p50, p90, p99) and a histogram. Ctrl-C ends the run and "
                + "prints the summary so far.",
            example: "curlew --repeat 1000 --concurrency 10 --rate 50/s localhost:8080"
        ),
        OptionSpec(
            .duration, "duration", value: .text("TIME"), group: .repetition,
            help: "Send the request again and again for this time: seconds, or 500ms, 2m. With --repeat, until one of "
                + "both is reached. Requests that are under way at the end are cut off, and not counted.",
            example: "curlew --duration 30s --concurrency 10 localhost:8080"
        ),
        OptionSpec(
            .concurrency, "concurrency", value: .text("C"), group: .repetition,
            help: "With --repeat or --duration, send C requests at the same time; the default is 1. With --download, "
                + "download C URLs at the same time; the default is 8."
        ),
        OptionSpec(
            .summary, "summary", value: .choice("FORMAT", SummaryFormat.allCases.map(\.rawValue)), group: .repetition,
            help: "With --repeat or --duration, the form of the summary. json is for programs: times are in seconds, "
                + "and the histogram has all its rows.",
            example: "curlew --repeat 1000 --summary json localhost:8080 | jq .latency.p99"
        ),
    ]

    private static let webSocket: [OptionSpec] = [
        OptionSpec(
            .subprotocol, "subprotocol", value: .text("NAME"), group: .webSocket,
            help: "Request this subprotocol. May be given several times, the preferred one first."
        ),
        OptionSpec(
            .binary, "binary", group: .webSocket, help: "Send lines as binary messages, which need not be UTF-8."
        ),
        OptionSpec(
            .ping, "ping", value: .text("TIME"), group: .webSocket,
            help: "Send a ping this often: seconds, or 500ms, 2m. If no pong arrives within --timeout (default: 20 "
                + "seconds), that is an error."
        ),
        OptionSpec(
            .linger, "linger", value: .text("TIME"), group: .webSocket,
            help: "After the end of standard input, close when the server has been silent for this long; 0 closes at "
                + "once. By default, close after one answer for each line and half a second of silence, or after "
                + "--timeout."
        ),
    ]
}
