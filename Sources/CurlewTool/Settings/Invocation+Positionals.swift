internal import CurlewCore

extension Invocation {
    /// Reads `[METHOD] URL [ITEM…]`. With `--download`, `--repeat` and `--duration`, there may be further URLs.
    mutating func takePositionals(_ words: [String]) throws(UsageError) {
        var words = words[...]
        if words.count > 1, let first = words.first, Self.isMethod(first) {
            method = first.uppercased()
            words.removeFirst()
        }
        guard let url = words.popFirst() else { throw UsageError("no URL given") }
        if download != nil, method == nil, !words.isEmpty, CurlHabits.isData(url) {
            throw UsageError(
                "'\(url)' is not a URL, and -d is --download",
                hint: "Data items follow the URL: curlew \(words.first ?? "URL") name=value, or --raw TEXT.")
        }
        if download?.continues == true, method == nil, !words.isEmpty, Int(url) != nil {
            throw UsageError(
                "'\(url)' is not a URL, and -c is --continue", hint: "hey's and ab's -c N is --concurrency N.")
        }
        try checkURL(url, before: words.first)
        urls = [url]
        for word in words {
            let manyURLs = download != nil || repeats
            if try Self.looksLikeURL(word, among: manyURLs) {
                guard manyURLs else {
                    throw UsageError(
                        "'\(word)' is a second URL",
                        hint:
                            "Several URLs work with --download, --repeat and --duration. curl's -F, -x, -b and -m have a value, those here do not."
                    )
                }
                urls.append(word)
            } else {
                items.append(try RequestItem(parsing: word))
            }
        }
    }

    /// Whether the word is a method: letters that are all capitals, or a known name in any case.
    private static func isMethod(_ word: String) -> Bool {
        guard isWord(word) else { return false }
        return word == word.uppercased() || knownMethods.contains(word.uppercased())
    }

    private static let knownMethods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY",
        "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "PURGE", "SEARCH",
    ]

    /// Refuses a method or an item in the URL's position.
    private func checkURL(_ word: String, before next: String?) throws(UsageError) {
        if method == nil, next == nil, Self.knownMethods.contains(word) {
            throw UsageError("'\(word)' is a method, and there is no URL", hint: "Try 'curlew \(word) example.org'.")
        }
        if let method, !word.contains("/"), !word.contains("?"), let item = try? RequestItem(parsing: word),
            item.kind != .header, item.kind != .emptyHeader
        {
            throw UsageError(
                "'\(word)' is a request item, and there is no URL", hint: "Try 'curlew \(method) example.org \(word)'.")
        }
        guard method == nil, let next, Self.isLocalURL(next), Self.isWord(word) else { return }
        let name = Suggestion.closest(to: word, in: Self.knownMethods.sorted()) ?? word.uppercased()
        let host = next.hasPrefix(":") && next != ":" ? ", or '\(word)\(next)'" : ""
        throw UsageError(
            "'\(word)' is not a known method, and '\(next)' is not a request item",
            hint: "Did you mean '\(name) \(next)'\(host)? Write any other method in capitals.")
    }

    /// Whether the word can only be a URL: `:8080`, `:/path`, `http://…`.
    private static func isLocalURL(_ word: String) -> Bool {
        let lowered = word.lowercased()
        if ["http://", "https://", "ws://", "wss://", "://"].contains(where: lowered.hasPrefix) { return true }
        guard word.hasPrefix(":") else { return false }
        guard let second = word.dropFirst().first else { return true }
        return second == "/" || second.isASCII && second.isWholeNumber
    }

    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(ASCII.isAlpha)
    }

    /// Whether the word is a URL. Items never begin with a scheme, or with a colon and a port. If several URLs are
    /// allowed, a word without a separator is one too.
    private static func looksLikeURL(_ word: String, among manyURLs: Bool) throws(UsageError) -> Bool {
        if isLocalURL(word) { return true }
        guard manyURLs else { return false }
        switch FurtherURL(word) {
        case .url: return true
        case .item: return (try? RequestItem(parsing: word)) == nil
        case .ambiguous:
            throw UsageError(
                "'\(word)' may be a URL or a request item",
                hint: "Write 'http://\(word)' for a URL. A header has a space after its colon: "
                    + "'\(word.replacing(":", with: ": ", maxReplacements: 1))'.")
        }
    }

    /// Refuses options that contradict each other.
    func check() throws(UsageError) {
        let hasData = items.contains { $0.kind.isBody }
        if body.raw != nil, hasData {
            throw UsageError(
                "--raw and data items cannot be combined",
                hint: "Both are the body. Query (==) and header (:) items are fine."
            )
        }
        if urls.count > 1, download != nil, output.file != nil {
            throw UsageError("--output names one file, but there are \(urls.count) URLs")
        }
        if urls.count > 1, download?.checksum != nil {
            throw UsageError("--checksum belongs to one file, but there are \(urls.count) URLs")
        }
        if output.mode != .send, urls.count > 1 {
            throw UsageError("--offline and --curl show one request, but there are \(urls.count) URLs")
        }
        if let download {
            if download.continues, download.segments > 1 {
                throw UsageError("--continue and --segments cannot be combined")
            }
            if output.harFile != nil || output.drawsTiming {
                throw UsageError("--har and --timing show one exchange, and a download may take several")
            }
            if output.isStandardOutput, output.mode == .send {
                throw UsageError(
                    "--download saves a file, and '--output -' is standard output",
                    hint: "Without --download, the body is written to standard output.")
            }
        }
        if body.isChunked, download != nil {
            throw UsageError(
                "--chunked and --download cannot be combined",
                hint:
                    "Without --chunked the input is read to its end, and sent then. --output writes the response to a file."
            )
        }
        if body.isChunked, body.compression != .off {
            throw UsageError("--compress and --chunked cannot be combined")
        }
        if body.isChunked, hasData || body.raw != nil {
            throw UsageError(
                "--chunked is for input that is piped in, and \(hasData ? "data items have" : "--raw has") a known length",
                hint: "Leave out --chunked, or pipe the body in: 'COMMAND | curlew --chunked URL'.")
        }
        try checkRepetition()
        try checkWebSocket()
        if cache.directory?.isEmpty == true { throw UsageError("--cache needs the name of a directory") }
        if cache.policy != .standard, cache.directory == nil {
            throw UsageError("--cache-policy needs --cache", hint: "--cache DIR names the directory with the cache.")
        }
        if tls.key != nil, tls.certificate == nil {
            throw UsageError("--cert-key needs --cert")
        }
    }
}
