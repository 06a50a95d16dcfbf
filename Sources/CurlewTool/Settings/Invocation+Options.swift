extension Invocation {
    /// Applies one option. If options contradict each other, the last one wins.
    mutating func apply(_ given: GivenOption) throws(UsageError) {
        let value = given.value ?? ""
        let flag = OptionTable.spec(given.option)?.flag ?? given.option.rawValue
        switch given.option {
        case .json: body.kind = .json
        case .form: body.kind = .form
        case .multipart: body.kind = .multipart
        case .boundary: body.boundary = try Self.boundary(value, for: flag)
        case .raw: body.raw = value
        case .compress: body.compression = body.compression == .off ? .ifSmaller : .always
        case .chunked: body.isChunked = true
        case .print, .headers, .body, .meta, .verbose, .all, .pretty, .style, .formatOptions, .sorted, .unsorted,
            .responseCharset, .responseMIME, .stream, .output, .quiet, .offline, .curl, .har, .timing:
            try applyOutput(given.option, value: value, flag: flag)
        case .download, .resume, .checksum, .segments:
            try applyDownload(given.option, value: value, flag: flag)
        case .session: session = SessionSettings(name: value, isReadOnly: false)
        case .sessionReadOnly: session = SessionSettings(name: value, isReadOnly: true)
        case .cache: cache.directory = value
        case .cachePolicy: cache.policy = CachePolicyChoice(rawValue: value) ?? .standard
        case .auth, .authType: applyAuth(given.option, value: value)
        case .follow, .maxRedirects, .timeout, .connectTimeout, .checkStatus, .retry, .limitRate, .proxy,
            .httpVersion, .resolve, .unixSocket, .ipv4, .ipv6, .https, .defaultScheme, .pathAsIs, .ignoreNetrc:
            try network.apply(given.option, value: value, flag: flag)
        case .verify, .ssl, .ciphers, .cert, .certKey, .certKeyPass, .pin:
            try tls.apply(given.option, value: value, flag: flag)
        case .subprotocol, .binary, .ping, .linger: try webSocket.apply(given.option, value: value, flag: flag)
        case .ignoreStdin: ignoresStandardInput = true
        case .debug: isDebugging = true
        case .help, .version: break
        }
    }

    private mutating func applyOutput(_ option: Option, value: String, flag: String) throws(UsageError) {
        switch option {
        case .print: output.parts = try OutputPart.parse(value, for: flag)
        case .headers: output.parts = [.responseHead]
        case .body: output.parts = [.responseBody]
        case .meta: output.parts = [.metadata]
        case .verbose:
            output.verbosity += 1
            output.printsHops = true
            output.parts = [.requestHead, .requestBody, .responseHead, .responseBody]
            if output.verbosity > 1 { output.parts?.insert(.metadata) }
        case .all: output.printsHops = true
        case .pretty: output.pretty = Pretty(rawValue: value)
        case .style, .formatOptions, .sorted, .unsorted, .responseCharset, .responseMIME:
            try output.look.apply(option, value: value, flag: flag)
        case .stream: output.isStreaming = true
        case .output:
            output.file = value == "-" ? nil : value
            output.isStandardOutput = value == "-"
        case .quiet: output.quietness += 1
        case .offline: output.mode = .offline
        case .curl: output.mode = .curl
        case .har: output.harFile = value
        case .timing: output.drawsTiming = true
        default: break
        }
    }

    private mutating func applyDownload(_ option: Option, value: String, flag: String) throws(UsageError) {
        var settings = download ?? DownloadSettings()
        switch option {
        case .resume: settings.continues = true
        case .checksum: settings.checksum = try ChecksumSetting(parsing: value, for: flag)
        case .segments: settings.segments = try ValueParsing.count(value, for: flag, in: 1...16)
        default: break
        }
        download = settings
    }

    private mutating func applyAuth(_ option: Option, value: String) {
        if option == .authType {
            let scheme = AuthScheme(rawValue: value) ?? .basic
            // The credentials may have been given before their type.
            let written = auth.map { $0.scheme == .bearer ? $0.secret ?? "" : Self.joined($0) }
            auth = written.map { Self.credentials($0, scheme: scheme) } ?? AuthSettings(scheme: scheme, username: "")
        } else {
            auth = Self.credentials(value, scheme: auth?.scheme ?? .basic)
        }
    }

    static func credentials(_ text: String, scheme: AuthScheme) -> AuthSettings {
        if scheme == .bearer { return AuthSettings(scheme: scheme, username: "", secret: text) }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return AuthSettings(scheme: scheme, username: parts[0], secret: parts.count == 2 ? parts[1] : nil)
    }

    private static func joined(_ auth: AuthSettings) -> String {
        auth.secret.map { "\(auth.username):\($0)" } ?? auth.username
    }

    /// Checks a boundary (RFC 2046, 5.1.1). The characters that would need quotes are not allowed.
    private static func boundary(_ text: String, for flag: String) throws(UsageError) -> String {
        let extra = Set("'+_-.".utf8)
        let isFine = text.utf8.allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 || extra.contains($0) }
        guard isFine, 1...70 ~= text.utf8.count else {
            throw UsageError("\(flag): a boundary is 1 to 70 letters, digits, and ' + _ - .")
        }
        return text
    }
}
