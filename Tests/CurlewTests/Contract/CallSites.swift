import Curlew
import Dispatch
import Foundation

// Every call site of the public contract as a user types it. The file is compiled and not run: a changed name or label
// breaks the build of the tests.

private struct User: Codable, Sendable { var name: String }
private struct Login: Encodable, Sendable { var name: String }

private func session() async throws {
    let session = Session(
        configuration: .default,
        transport: nil,
        startRequestsImmediately: true,
        interceptor: nil,
        serverTrustManager: nil,
        redirectHandler: nil,
        eventMonitors: []
    )
    _ = Session.default
    _ = Session()
    let request = session.request("https://example.com")
    if let task = request.task { _ = await session[task] }
    _ = await session.activeRequests
    try await session.prewarm("https://example.com")
    try await session.prewarm(URL(string: "https://example.com")!, connections: 4)
    let snapshot: ConnectionSnapshot = await session.connections
    for (origin, pool) in snapshot.origins where origin.scheme == "https" && origin.host != "" && origin.port > 0 {
        _ = pool.open + pool.inUse + pool.idle + pool.opening + pool.waiting
        let version: HTTPVersion? = pool.version
        let age: Duration? = pool.oldestAge
        _ = (version, age, snapshot.totals.open)
    }
    _ = ConnectionSnapshot.Origin(URL(string: "https://example.com")!).map { snapshot.origins[$0] }
    await session.cancelAllRequests()
    await session.drain()
    await session.invalidate()
    let name = try await withSession { session in
        try await session.request("https://example.com").decode(User.self).name
    }
    _ = try await withSession(configuration: SessionConfiguration { $0.maximumConnectionsPerHost = 2 }) { session in
        try await session.request(URL(string: "https://example.com")!).data()
    }
    _ = name
}

private func factories(_ session: Session, url: URL, file: URL, stream: AsyncStream<Data>) throws {
    let urlRequest = try URLRequest(url: "https://example.com", method: .get, headers: ["A": "b"])
    _ = session.request(
        "https://example.com", method: .post, parameters: ["a": 1, "b": ["c"]], encoding: JSONEncoding.default)
    _ = session.request(url, parameters: ["a": "b"], headers: [.accept("text/plain")])
    _ = session.request(url, method: .post, parameters: Login(name: "n"), encoder: JSONParameterEncoder.default)
    _ = session.request(url, method: .post, parameters: Login(name: "n"), encoder: .json)
    _ = session.request(url, method: .post, parameters: Login(name: "n"), encoder: .urlEncodedForm)
    _ = session.request(urlRequest)
    _ = session.request(url, interceptor: .retryPolicy, shouldAutomaticallyResume: false) { $0.timeoutInterval = 3 }
    _ = session.download(url)
    _ = session.download(url, to: DownloadRequest.suggestedDownloadDestination())
    _ = session.download(
        urlRequest, to: { temporary, _ in (temporary, [.removePreviousFile, .createIntermediateDirectories]) })
    _ = session.download(resumingWith: Data())
    _ = session.upload(Data(), to: url)
    _ = session.upload(Data(), with: urlRequest)
    _ = session.upload(file, to: "https://example.com", method: .put, headers: nil)
    _ = session.upload(file, with: urlRequest)
    _ = session.upload(InputStream(data: Data()), to: url)
    _ = session.upload(stream, to: url)
    _ = session.upload(
        multipartFormData: { $0.append(Data(), withName: "a", fileName: "f", mimeType: "text/plain") }, to: url)
    let form = MultipartFormData()
    form.append(file, withName: "file")
    _ = session.upload(multipartFormData: form, to: url)
    _ = session.upload(multipartFormData: form, with: urlRequest)
    _ = session.streamRequest(url)
    _ = session.streamRequest(url, method: .post, parameters: Login(name: "n"), automaticallyCancelOnStreamError: true)
    _ = session.streamRequest(urlRequest)
    _ = session.streamRequest(url, method: .post, body: .data(Data()), headers: ["X": "y"])
    _ = session.streamRequest(url, body: .file(file))
    _ = session.streamRequest(url, method: .put, body: .sequence(stream, length: 3))
    _ = session.streamRequest(urlRequest, body: .sequence(stream))
    _ = session.streamRequest(url, method: .post, body: .multipart(MultipartFormData()))
}

private func awaitingMethods(_ session: Session, url: URL, file: URL) async throws(CurlewError) {
    let user: User = try await session.request(url).decode(User.self)
    _ = try await session.request(url).decode(User.self, decoder: JSONDecoder())
    let data: Data = try await session.request(url).data()
    let text: String = try await session.request(url).string()
    _ = try await session.request(url).string(encoding: .utf8)
    let response: DataResponse<Data?, CurlewError> = await session.request(url).response()
    _ = response.result
    _ = response.metrics?.firstByte
    let path: URL = try await session.download(url).file()
    _ = try await session.download(url).data()
    _ = try await session.download(url).string()
    _ = try await session.download(url).decode(User.self)
    _ = try await session.upload(file, to: url).decode(User.self)
    _ = try await session.request(url).acceptingAnyStatus().data()
    _ = try await session.request(url).validate(statusCode: 200..<500).data()
    _ = try await session.request(url).timeouts { $0.total = .seconds(3) }.maximumBodySize(10).data()
    _ = (user, data, text, path)
}

private func streams(_ session: Session, url: URL) async throws {
    for try await chunk in session.streamRequest(url).chunks { let _: Data = chunk }
    for try await line in session.streamRequest(url).lines { let _: String = line }
    for try await event in session.streamRequest(url).events {
        let _: (String?, String, String, Duration?) = (event.id, event.event, event.data, event.retry)
    }
    for try await item in session.streamRequest(url).decode(User.self) { let _: User = item }
    let _: Data = try await session.streamRequest(url).data()
    let request = session.request(url)
    for await progress in request.downloadProgress(bufferingPolicy: .bufferingNewest(1)) {
        _ = progress.fractionCompleted
    }
    for await progress in request.downloadProgress() { _ = progress.fractionCompleted }
    for await progress in request.uploadProgress() { _ = progress.fractionCompleted }
    let stream = session.streamRequest(url)
    let head: ResponseHead = try await stream.head()
    for try await _ in stream.chunks {}
    _ = head.status
    _ = ServerSentEvent(id: nil, data: "x", retry: nil)
}

private func handlers(_ session: Session, url: URL) {
    session.request(url)
        .validate()
        .validate(statusCode: [200])
        .validate(contentType: ["application/json"])
        .validate { _, _, _ in .success(()) }
        .authenticate(username: "u", password: "p")
        .downloadProgress { _ in }
        .uploadProgress(queue: .main) { _ in }
        .redirect(using: Redirector.doNotFollow)
        .onHTTPResponse { _ in }
        .cURLDescription { _ in }
        .response { _ in }
        .responseData { _ in }
        .responseString { _ in }
        .responseDecodable(of: User.self) { response in _ = response.value?.name }
        .resume()
    session.download(url).responseURL { _ in }
    let request = session.request(url)
        .adapt(using: Adapter { request, _ in request })
        .retry(using: RetryPolicy())
        .interceptor(Interceptor())
        .eventMonitor(Monitor())
    request.suspend()
    request.resume()
    request.cancel()
    _ = (request.id, request.state, request.isFinished, request.retryCount, request.task, request.metrics)
    _ = (request.request, request.response, request.error)
    for attempt in request.attempts {
        _ = (attempt.number, attempt.requests, attempt.redirects, attempt.tasks, attempt.metrics, attempt.error)
    }
    _ = request.cURLDescription()
}

private struct HeaderAdapter: RequestInterceptor {
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        var copy = urlRequest
        copy.headers.add(.authorization(bearerToken: "t"))
        return copy
    }

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        request.retryCount < 2 ? .retryWithDelay(0.1) : .doNotRetry
    }
}

private struct Token: AuthenticationCredential { var requiresRefresh: Bool { false } }

private final class TokenAuthenticator: Authenticator {
    func apply(_ credential: Token, to urlRequest: inout URLRequest) {}
    func refresh(_ credential: Token, for session: Session) async throws -> Token { credential }
    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { false }
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool { true }
    func isFinal(_ error: any Error, refreshing credential: Token) -> Bool { error is OAuth2Error }
}

private final class Monitor: EventMonitor {
    let queue = DispatchQueue(label: "monitor")
    func requestDidFinish(_ request: Request) {}
    func request(_ request: Request, didCreateTask task: TaskIdentifier) {}
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
    func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {}
    func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>) {}
}

private struct CountingTransport: Transport {
    let base: any Transport
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        try await base.perform(request, sink: sink)
    }
}

private func extensionPoints() {
    let configuration = SessionConfiguration {
        $0.identifier = "x"
        $0.headers = [.userAgent("mine")]
        $0.timeouts = Timeouts(
            connect: .seconds(1), firstByte: .seconds(2), idle: .seconds(3), total: nil, queue: .seconds(4))
        $0.timeouts.connect = .seconds(1)
        $0.maximumConnectionsPerHost = 6
        $0.maximumConnections = 256
        $0.connectionIdleLifetime = .seconds(10)
        $0.maximumConnectionAge = .seconds(300)
        $0.maximumRequestsPerConnection = 1000
        $0.keepAlive = KeepAlive(idle: .seconds(60), interval: .seconds(30), probes: 3)
        $0.keepAlive?.unacknowledgedTimeout = .seconds(60)
        $0.http2PingInterval = .seconds(30)
        $0.httpVersion = .http2PriorKnowledge
        $0.maximumBodySize = 1024
        $0.maximumHeaderSize = 1024
        $0.redirects = RedirectPolicy(limit: 20, sensitiveHeaders: [], allowsInsecure: false)
        $0.proxy = .url(URL(string: "http://proxy:3128")!, username: "u", password: "p", exclusions: ["localhost"])
        $0.proxyRouting = { _ in Proxy.none }
        $0.tls.minimumVersion = .v1_2
        $0.tls.trustRoots = .file(URL(filePath: "/ca.pem"))
        $0.tls.publicKeyPins = ["sha256//AAAA"]
        $0.cookies = CookieJar()
        $0.dns.overrides = ["example.com": ["127.0.0.1"]]
        $0.dns.resolver = { host, port in
            DNSAnswer(addresses: ["192.0.2.\(host.count)", "2001:db8::\(port)"], timeToLive: .seconds(10))
        }
        $0.localAddress = nil
        $0.interface = nil
        $0.unixSocketPath = "/run/x.sock"
        $0.uploadRateLimit = 1
        $0.downloadRateLimit = 1
        $0.addressPolicy = .publicOnly
    }
    let transport = CountingTransport(base: configuration.makeTransport())
    _ = Session(
        configuration: configuration,
        transport: transport,
        interceptor: Interceptor(
            adapters: [HeaderAdapter()],
            retriers: [RetryPolicy(retryLimit: 3, retryableErrorCodes: [.connectFailed])],
            interceptors: [
                AuthenticationInterceptor(authenticator: TokenAuthenticator(), credential: Token())
            ]
        ),
        serverTrustManager: ServerTrustManager(evaluators: ["example.com": DefaultTrustEvaluator()]),
        redirectHandler: Redirector(behavior: .follow),
        eventMonitors: [Monitor()]
    )
}

private func beforeAndAfter(_ session: Session, url: URL, stream: AsyncStream<Data>) async throws {
    let request = session.request(url)
        .onInformationalResponse { head in let _: (Int, [String]) = (head.status, head.headers.values(for: "Link")) }
        .onInformationalResponse(on: .global()) { _ in }
    let trailers: HTTPHeaders? = await request.response().trailers
    let _: HTTPHeaders? = request.trailers
    let _: HTTPHeaders? = await session.download(url).response().trailers
    _ = try await session.upload(stream, to: url).sendingTrailers { ["X-Count": "1"] }.data()
    _ = trailers
}

private func errors(_ session: Session, url: URL) async {
    do throws(CurlewError) {
        _ = try await session.request(url).data()
    } catch {
        _ = (error.code == .unacceptableStatus, error.phase, error.url, error.attempt, error.underlying, error.native)
        _ = (error.metrics, error.responseCode, error.responseBody, error.isTimeout, error.isConnectivity)
        _ = (error.isCancellation, error.isTLS, error.isSafeToRetry)
    }
    do {
        _ = try await session.request(url).data()
    } catch CurlewError.Code.cancelled {
    } catch {
        _ = error.underlying
    }
}

private struct Tracing: ExchangeAdapter {
    func adapt(_ urlRequest: URLRequest, for exchange: ExchangeInfo) async throws -> URLRequest {
        var request = urlRequest
        request.setValue("\(exchange.attempt) \(exchange.hop) \(exchange.task)", forHTTPHeaderField: "X-Trace")
        _ = (exchange.url, exchange.hasStreamedBody, exchange.leavesOrigin, exchange.urlTemplate)
        return request
    }
}

private struct Middleware: RequestMiddleware {
    func intercept(_ request: URLRequest, next: Next) async throws -> Reply {
        if request.url == nil { return Reply(status: 503, headers: ["Retry-After": "1"], body: Data()) }
        var reply = try await next(request)
        reply.head.status = 200
        reply.body = .data(try await reply.data(upTo: 1000))
        _ = (reply.trailers, reply.metrics?.duration)
        switch reply.body {
        case .data(let data): return Reply(head: reply.head, body: .data(data))
        case .stream(let chunks): reply.body = .stream(chunks.map { $0 + $0 })
        }
        return try await reply.inspectBody { _ in }.mapBody { $0 }
    }
}

private func exchanges(url: URL) async throws {
    let session = Session(
        configuration: SessionConfiguration {
            $0.exchangeAdapters = [Tracing()]
            $0.middleware = [Middleware()]
        })
    _ = try await session.request(url).exchangeAdapter(Tracing()).middleware(Middleware()).data()
    _ = session.download(url).middleware(Middleware())
    _ = session.streamRequest(url).middleware(Middleware())
    _ = try await Middleware().intercept(URLRequest(url: url), next: Next { _ in Reply(status: 204) })
}

private func oauth2(_ url: URL, _ token: OAuth2Token) async throws {
    let client = OAuth2Client(
        tokenURL: url,
        clientID: "app",
        clientSecret: "secret",
        authentication: .basic,
        scopes: ["read"],
        authorizationURL: url,
        deviceAuthorizationURL: url,
        redirectURL: url,
        issuer: "https://auth.example.com",
        parameters: ["audience": "api"],
        expirySkew: .seconds(30),
        session: .default,
        onChange: { new, former in print(new.scope ?? "", new.expires ?? Date(), former == nil) }
    )
    _ = Session(interceptor: client.interceptor())
    _ = Session(interceptor: AuthenticationInterceptor(authenticator: client, credential: token))
    _ = try await client.token()
    _ = try await client.token(refreshing: token)
    let pkce = try PKCE()
    _ = try client.authorizationURL(state: "state", pkce: pkce, parameters: ["prompt": "login"])
    _ = try await client.token(redirectedTo: url, state: "state", pkce: PKCE(verifier: pkce.verifier))
    _ = try await client.token(code: "code", pkce: pkce)
    let login = try await client.authorizeDevice()
    print(login.verificationURL, login.userCode)
    do throws(CurlewError) {
        _ = try await client.token(for: login)
    } catch {
        if error.oauth2Error?.code == .accessDenied { print(error.oauth2Error?.details ?? "") }
    }
}
