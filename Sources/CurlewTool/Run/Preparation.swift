internal import Curlew
internal import Foundation

/// An invocation with everything that its plan needs: session, credentials, standard input.
struct Preparation: Sendable {
    let invocation: Invocation
    var plan: RequestPlan
    /// The credentials. They may also be in the plan's headers already: see `isAuthInHeader`.
    var auth: AuthSettings?
    var isAuthInHeader = false
    var sessionFile: SessionFile?
    var stored = StoredSession()
    /// Whether the body is sent compressed, as decided by `decideCompression`.
    var compressesBody = false
    /// The stored session's cookies. `nil` if there is no session.
    var jar: CookieJar?

    init(
        _ invocation: Invocation,
        url: String? = nil,
        files: ItemFiles = ItemFiles(),
        context: ToolContext
    ) throws(UsageError) {
        var invocation = invocation
        var typed = url ?? invocation.urls.first ?? ""
        let inURL = URLCredentials.take(from: &typed)
        let target = try TargetURL.resolve(typed, defaultScheme: invocation.network.defaultScheme)
        if let session = invocation.session {
            let host = URLParts(target).authority
            let path = try SessionPath.path(name: session.name, host: host, environment: context.environment)
            let file = SessionFile(path: path)
            stored = try file.load()
            try stored.check(
                URLParts(target).origin, isByHost: !SessionPath.isPath(session.name), path: session.name)
            jar = stored.jar()
            sessionFile = session.isReadOnly ? nil : file
        }
        auth = try Self.credentials(invocation.auth ?? inURL ?? stored.auth, host: URLParts(target).host)
        if auth == nil { invocation.auth = nil }
        try Self.refuseSecondBody(invocation)
        let streams = invocation.body.isChunked
        let isFed = !invocation.ignoresStandardInput && Self.wantsInput(invocation) && InputFile.isStandardInputFed
        if streams, !isFed {
            throw UsageError(
                "--chunked sends piped input, and there is none",
                hint: "Write 'COMMAND | curlew --chunked URL', or leave out --chunked.")
        }
        var input: [UInt8]?
        if isFed, !streams {
            let bytes = try files.standardInput { () throws(UsageError) in
                try Self.readInput(isQuiet: invocation.output.quietness > 0, context: context)
            }
            input = bytes.isEmpty ? nil : bytes
        }
        let builder = PlanBuilder(
            read: { (path) throws(UsageError) in try files.read(path) },
            isStream: InputFile.isStream,
            standardInput: input,
            streamsStandardInput: isFed && streams,
            userAgent: "curlew/\(CurlewInfo.version)",
            makeBoundary: { "curlew-" + UUID().uuidString.lowercased() },
            storedHeaders: stored.headers
        )
        plan = try builder.plan(invocation, url: typed)
        self.invocation = invocation
        authorize()
        decideCompression()
    }

    private static func wantsInput(_ invocation: Invocation) -> Bool {
        // A WebSocket reads its lines later, while it is open.
        !invocation.isWebSocket && invocation.body.raw == nil && !invocation.items.contains { $0.kind.isBody }
            && (invocation.urls.count == 1 || invocation.repeats)
    }

    private static func readInput(isQuiet: Bool, context: ToolContext) throws(UsageError) -> [UInt8] {
        if !isQuiet, !InputFile.isReady(STDIN_FILENO, within: patienceInMilliseconds) {
            context.note("waiting for standard input; --ignore-stdin (-I) sends the request without it")
        }
        do throws(OutputFile.Failure) {
            return try InputFile.readAll(STDIN_FILENO)
        } catch {
            throw UsageError("cannot read standard input: \(error.text)")
        }
    }

    /// The time that the command waits for the first byte of its input before it says so.
    private static let patienceInMilliseconds: Int32 = 10_000

    /// The time that a pipeline gets for its first byte: its beginning starts together with the command, and may not
    /// have written yet. A command with another body pays this time if its standard input stays open and silent (ssh, a
    /// job runner).
    private static let startInMilliseconds: Int32 = 100

    /// Refuses piped input next to another body. It would be lost silently.
    private static func refuseSecondBody(_ invocation: Invocation) throws(UsageError) {
        guard hasSecondBody(invocation, within: startInMilliseconds) else { return }
        throw UsageError(
            "standard input and \(bodyName(of: invocation)) cannot be combined",
            hint: "Both are the body. --ignore-stdin (-I) leaves standard input alone, for instance in loops.")
    }

    private static func hasSecondBody(_ invocation: Invocation, within milliseconds: Int32) -> Bool {
        guard !invocation.ignoresStandardInput,
            invocation.body.raw != nil || invocation.items.contains(where: { $0.kind.isBody })
        else { return false }
        return InputFile.hasBytes(within: milliseconds)
    }

    private static func bodyName(of invocation: Invocation) -> String {
        invocation.body.raw != nil ? "--raw" : "data items"
    }

    /// Reports input that arrived too late to be refused. Called at the end of an exchange.
    func refuseLateInput() throws(UsageError) {
        guard Self.hasSecondBody(invocation, within: 0) else { return }
        throw UsageError(
            "standard input was not sent: the body was made of the \(Self.bodyName(of: invocation))",
            hint: "The input arrived after the request was sent. --ignore-stdin (-I) leaves standard input alone.")
    }

    private static func credentials(_ given: AuthSettings?, host: String) throws(UsageError) -> AuthSettings? {
        guard var auth = given else { return nil }
        if auth.scheme == .bearer, auth.secret == nil {
            throw UsageError("--auth-type bearer needs a token", hint: "--auth-type bearer --auth TOKEN")
        }
        if auth.secret == nil {
            guard !auth.username.isEmpty || auth.scheme == .negotiate else {
                throw UsageError("--auth-type needs --auth", hint: "--auth USER:PASSWORD")
            }
            auth.secret = auth.scheme == .negotiate ? "" : try PasswordPrompt.ask(for: auth.username, host: host)
        }
        return auth
    }

    /// Adds credentials that need no challenge to the head, so that `-v` and `--offline` show them.
    private mutating func authorize() {
        guard let auth, plan.header("Authorization") == nil else { return }
        switch auth.scheme {
        case .basic:
            let pair = Data("\(auth.username):\(auth.secret ?? "")".utf8).base64EncodedString()
            plan.headers.append(HeaderField("Authorization", "Basic \(pair)"))
            isAuthInHeader = true
        case .bearer:
            plan.headers.append(HeaderField("Authorization", "Bearer \(auth.secret ?? "")"))
            isAuthInHeader = true
        case .digest, .ntlm, .negotiate, .any:
            break
        }
    }
}

extension Preparation {
    /// Decides whether the body is sent compressed. Only a body in memory can be. With `.ifSmaller`, it is compressed
    /// here to compare the sizes.
    private mutating func decideCompression() {
        guard case .data(let bytes) = plan.body else {
            compressesBody = false
            return
        }
        switch invocation.body.compression {
        case .off: compressesBody = false
        case .ifSmaller: compressesBody = bytes.count > BodySettings.Compression.worthwhile && Self.shrinks(bytes)
        case .always: compressesBody = true
        }
    }

    private static func shrinks(_ bytes: [UInt8]) -> Bool {
        ((try? Deflate.compressed(Data(bytes), as: .zlib)).map { $0.count < bytes.count }) ?? false
    }
}

extension Preparation {
    /// Refuses `--continue` unless the request is a GET without a body. The rest of the file is fetched with such a
    /// GET; appended to the response of another request, it would belong to a different file.
    func refuseOtherContinuations() throws(UsageError) {
        guard invocation.download?.continues == true, plan.method != "GET" || !plan.body.isEmpty else { return }
        throw UsageError(
            "--continue resumes only responses to GET without a body",
            hint: "Without --continue the request is sent as it is, and its whole response is downloaded.")
    }

    /// Reads files and forms into memory, because the library's downloads have their body in the request.
    mutating func gatherBody() throws {
        defer { decideCompression() }
        switch plan.body {
        case .none, .data, .standardInput: break
        case .file(let path): plan.body = .data(try InputFile.read(path))
        case .multipart(let parts, let boundary):
            plan.body = .data(Array(try RequestPlan.form(parts, boundary: boundary).encode()))
        }
    }

    /// Asks for the file without encoding: it is saved as it is on the server, and ranges of it must fit together.
    mutating func acceptOnlyPlainBytes() {
        guard plan.header("Accept-Encoding") == nil else { return }
        plan.headers.append(HeaderField("Accept-Encoding", "identity"))
    }
}

// MARK: The library's request

extension Preparation {
    /// Returns the interceptor that retries the request and compresses its body. `nil` if neither is wanted.
    func interceptor(announce: @escaping @Sendable (RetryNote) async -> Void) -> (any RequestInterceptor)? {
        var parts: [any RequestInterceptor] = []
        if let retries = RetrySettings(self).interceptor(announce) { parts.append(retries) }
        if compressesBody { parts.append(.deflatingBodies) }
        return parts.isEmpty ? nil : Interceptor(interceptors: parts)
    }

    /// Sets the credentials of a scheme that needs a challenge. Others are header fields of the plan.
    func authenticate(_ request: Request) {
        guard let authentication = auth.flatMap({ TransferAuthentication($0) }) else { return }
        request.authenticate(with: authentication)
    }
}

extension RequestInterceptor where Self == Adapter {
    /// Sends bodies in memory with the coding `deflate`, as HTTPie does.
    fileprivate static var deflatingBodies: Adapter {
        Adapter { request, _ in
            try BodyCompression(format: .zlib, duplicates: .error, wants: { _ in true }).compressing(request)
        }
    }
}

/// The credentials of a URL: `user:password@`.
enum URLCredentials {
    /// Removes the credentials from the URL and returns them percent-decoded. `nil` if there are none.
    static func take(from url: inout String) -> AuthSettings? {
        let start = url.range(of: "://")?.upperBound ?? url.startIndex
        let end = url[start...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? url.endIndex
        guard let at = url[start..<end].lastIndex(of: "@") else { return nil }
        let parts = url[start..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        url.removeSubrange(start...at)
        let decoded = parts.map { String($0).removingPercentEncoding ?? String($0) }
        return AuthSettings(scheme: .basic, username: decoded[0], secret: decoded.count == 2 ? decoded[1] : "")
    }
}
