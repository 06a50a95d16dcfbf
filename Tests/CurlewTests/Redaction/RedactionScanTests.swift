import Curlew
import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

/// Searches everything that Curlew prints by itself for known secrets.
@Suite("Redaction of printed values", .timeLimit(.minutes(4)))
struct RedactionScanTests {
    /// Every secret of these tests contains this text.
    private static let mark = "SECRET"

    /// The texts that can be printed of a value: interpolated, debugged and dumped.
    private func texts(of value: some Sendable) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(describing: value), String(reflecting: value), dumped]
    }

    private func expectNothing(in value: some Sendable, sourceLocation: SourceLocation = #_sourceLocation) {
        for text in texts(of: value) {
            #expect(!text.contains(Self.mark), "\(text)", sourceLocation: sourceLocation)
        }
    }

    private static let url =
        "https://SECRETUSER:SECRETPASSWORD@example.org/path?token=SECRETQUERY&SECRETFLAG#code=SECRETFRAGMENT&SECRETEND"

    private static let headers: HTTPHeaders = [
        "Authorization": "Bearer SECRETTOKEN", "Cookie": "a=SECRETCOOKIE", "Proxy-Authorization": "Basic SECRETBASIC",
        "X-Api-Key": "SECRETKEY", "X-Mine": "SECRETMINE", "Referer": "https://example.org/?SECRETREFERER",
        "Content-Type": "application/json",
    ]

    private static let body = Data(
        #"{"user":"ada","password":"SECRETFIELD","deep":[{"access_token":"SECRETDEEP"}]}"#.utf8)

    // MARK: Values

    @Test func configurationDescriptionsOmitSecrets() throws {
        let proxy = Proxy.url(
            try #require(URL(string: "http://SECRETUSER:SECRETPASSWORD@proxy.test:3128")),
            username: "SECRETUSER",
            password: "SECRETPASSWORD"
        )
        let authentication = TransferAuthentication(username: "SECRETUSER", password: "SECRETPASSWORD")
        let identities: [ClientIdentity] = [
            .pem(certificate: Data("SECRET".utf8), key: Data("SECRET".utf8), passphrase: "SECRETPASS"),
            .files(certificate: URL(filePath: "/c"), key: URL(filePath: "/k"), passphrase: "SECRETPASS"),
            .pkcs12(Data("SECRET".utf8), passphrase: "SECRETPASS"),
        ]
        expectNothing(in: proxy)
        expectNothing(in: authentication)
        for identity in identities {
            expectNothing(in: identity)
            let configuration = SessionConfiguration {
                $0.headers = Self.headers
                $0.redirects.sensitiveHeaders = ["X-Mine"]
                $0.headers.remove(name: "X-Mine")
                $0.proxy = proxy
                $0.credentials = ["example.org": authentication]
                $0.tls.clientIdentity = identity
                $0.dns.dohURL = URL(string: "https://SECRET:SECRET@dns.test/?SECRET")
                $0.cookies = CookieJar()
                $0.cookies?.set(cookie)
            }
            expectNothing(in: configuration)
            expectNothing(in: configuration.tls)
            expectNothing(in: configuration.dns)
        }
    }

    private var cookie: Cookie {
        Cookie(name: "sid", value: "SECRETCOOKIE", domain: "example.org", created: Date())
    }

    @Test func exchangeDescriptionsOmitSecrets() throws {
        let url = try #require(URL(string: Self.url))
        var headers = Self.headers
        headers.remove(name: "X-Mine")
        expectNothing(in: cookie)
        expectNothing(in: OAuth2Client(tokenURL: url, clientID: "app", clientSecret: "SECRET"))
        expectNothing(in: OAuth2Token(accessToken: "SECRET", refreshToken: "SECRET", idToken: "SECRET"))
        expectNothing(in: try PKCE(verifier: String(repeating: "SECRET", count: 8)))
        expectNothing(in: headers)
        expectNothing(in: HTTPHeader.authorization(username: "SECRETUSER", password: "SECRETPASSWORD"))
        expectNothing(in: HTTPHeader.authorization(bearerToken: "SECRETTOKEN"))
        let hop = RedirectHop(url: url, status: 302, location: url)
        var metrics = TransferMetrics(queued: Date(), ended: Date())
        metrics.redirects = [hop]
        let head = ResponseHead(
            status: 302,
            headers: ["Set-Cookie": "sid=SECRETCOOKIE", "Location": Self.url, "X-Csrf-Token": "SECRETTOKEN"]
        )
        expectNothing(in: hop)
        expectNothing(in: metrics)
        expectNothing(in: head)
        expectNothing(in: TransferOutcome(head: head, metrics: metrics))
        expectNothing(in: TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: url, headers: headers))
    }

    @Test func errorDescriptionsOmitSecrets() async throws {
        let url = try #require(URL(string: Self.url))
        var errors = [
            CurlewError(.receiveFailed, phase: .receive, url: url),
            .invalidURL(url: Self.url),
            .invalidURL(url: "ht tp://SECRETUSER:SECRET/PASSWORD@example.org/?SECRET#SECRET"),
            .invalidURL(url: "https://ada:SECRET#PASSWORD@example.org/"),
            .invalidURL(url: "https://ada@example.org:SECRET?PASSWORD@example.org/"),
            .invalidURL(url: "https://ada:SECRET/PASS#WORD@example.org/"),
            .requestAdaptationFailed(
                error: URLError(.timedOut, userInfo: ["NSErrorFailingURLStringKey": Self.url])),
        ]
        // Errors about texts that are not URLs, invalid proxies, and headers that cannot be sent.
        for text in ["http://SECRET:SEC RET@example.org", "SECRET:SECRET@example.org/", "http:///?SECRET", "?SECRET"] {
            let response = await Session(transport: MockTransport { _ in .text("x") }).request(text).response()
            if let error = response.error { errors.append(error) }
        }
        for proxy in [
            "http://SECRET:SECRET@[::1", "ftp://SECRET:SECRET@proxy.test", "http://SECRET:SECRET@127.0.0.1:1",
        ] {
            guard let proxy = URL(string: proxy) else { continue }
            let session = Session(configuration: SessionConfiguration { $0.proxy = .url(proxy, username: "SECRET") })
            errors.append(try #require(await session.request("http://example.test/?SECRET#SECRET").response().error))
        }
        let real = Session(configuration: SessionConfiguration { $0.proxy = .none })
        for (name, value) in [("Authorization", "SECRET\r\nX: y"), ("X-Api-Key", "SECRET\0")] {
            let request = real.request(Self.url, headers: [name: value])
            errors.append(try #require(await request.response().error))
        }
        #expect(errors.count >= 8)
        for error in errors {
            for text in ["\(error)", String(reflecting: error), error.localizedDescription, error.reason] {
                #expect(!text.contains(Self.mark), "\(text)")
            }
            #expect(error.url?.absoluteString.contains(Self.mark) != true)
        }
    }

    // MARK: Runs

    private struct Line: Sendable {
        let text: String
    }

    /// A redirect that sets cookies, followed by a response with tokens; or a failure.
    private static func answer(_ request: MockRequest) throws -> MockResponse {
        switch request.path {
        case "/path":
            return MockResponse(
                status: 302,
                headers: [
                    "Location": "https://SECRETUSER:SECRETPASSWORD@example.org/next?code=SECRETCODE&SECRETFLAG#SECRET",
                    "Set-Cookie": "sid=SECRETCOOKIE",
                ]
            )
        case "/next":
            return MockResponse(
                status: 200,
                headers: [
                    "Content-Type": "application/json", "Set-Cookie": "sid=SECRETCOOKIE", "X-Auth-Token": "SECRETTOKEN",
                    "Content-Location": "/x?SECRET", "X-Mine": "SECRETMINE",
                ],
                body: [.bytes(Data(#"{"refresh_token":"SECRETREFRESH","name":"ada"}"#.utf8))]
            )
        default: throw CurlewError(.receiveFailed, phase: .receive, url: URL(string: Self.url))
        }
    }

    @Test func logsArchivesAndDescriptionsOmitSecrets() async throws {
        let lines = Lock<[Line]>([])
        let log = LogEventMonitor(minimumLevel: .debug) { level, message, fields in
            lines.withLock { $0.append(Line(text: "\(level) \(message) \(fields)")) }
        }
        let recorder = HARRecorder()
        let jar = CookieJar()
        jar.set(cookie)
        let session = Session(
            configuration: SessionConfiguration {
                $0.cookies = jar
                $0.redirects.sensitiveHeaders = ["X-Mine"]
            },
            transport: MockTransport { try Self.answer($0) },
            eventMonitors: [log, recorder]
        )
        for path in ["path", "fails"] {
            let text = Self.url.replacing("/path", with: "/\(path)")
            let request = session.upload(Self.body, to: text, method: .post, headers: Self.headers)
                .authenticate(username: "SECRETUSER", password: "SECRETPASSWORD")
            let response = await request.response()
            #expect(response.error == nil || path == "fails")
            expectNothing(in: request)
            for text in ["\(response)", request.cURLDescription(), response.error.map { "\($0)" } ?? ""] {
                #expect(!text.contains(Self.mark), "\(text)")
            }
            #expect(!response.debugDescription.contains(Self.mark), "\(response.debugDescription)")
            #expect(response.debugDescription.contains("X-Mine: <redacted>"))
            #expect(!texts(of: try #require(response.metrics)).joined().contains(Self.mark))
        }
        let form = session.request(
            "https://example.org/next", method: .post, parameters: ["password": "SECRETFIELD", "name": "ada"])
        _ = await form.response()
        #expect(form.cURLDescription().contains("name=ada"))
        expectNothing(in: form.cURLDescription())
        await session.drain()
        await log.queue.settled()
        #expect(lines.withLock { $0.count } > 4)
        for line in lines.withLock({ $0 }) { #expect(!line.text.contains(Self.mark), "\(line.text)") }
        let archive = String(decoding: try await recorder.archive(), as: UTF8.self)
        #expect(archive.contains("example.org/next") && archive.contains("ada"))
        for line in archive.split(separator: "\n") { #expect(!line.contains(Self.mark), "\(line)") }
        expectNothing(in: jar)
        expectNothing(in: session)
    }

    @Test func streamCompletionDescriptionsOmitSecrets() async throws {
        let session = Session(transport: MockTransport { try Self.answer($0) })
        let completions = Lock<[DataStreamRequest.Completion]>([])
        for path in ["next", "fails"] {
            let request = session.streamRequest(Self.url.replacing("/path", with: "/\(path)"))
            await withCheckedContinuation { continuation in
                request.responseStream(on: .global()) { stream in
                    guard let completion = stream.completion else { return }
                    completions.withLock { $0.append(completion) }
                    continuation.resume()
                }
            }
        }
        #expect(completions.withLock { $0.count } == 2)
        for completion in completions.withLock({ $0 }) { expectNothing(in: completion) }
    }

    @Test func credentialsAreIncludedOnRequest() async throws {
        let recorder = HARRecorder(includingCredentials: true)
        let session = Session(transport: MockTransport { try Self.answer($0) }, eventMonitors: [recorder])
        let request = session.upload(Self.body, to: Self.url, method: .post, headers: Self.headers)
        _ = await request.response()
        let command = request.cURLDescription(includingCredentials: true)
        let commands = Recorded<String>()
        let queue = DispatchQueue(label: "commands")
        request.cURLDescription(on: queue) { commands.note($0) }
        request.cURLDescription(on: queue, includingCredentials: true) { commands.note($0) }
        await queue.settled()
        #expect(commands.all == [request.cURLDescription(), command])
        // The redirect dropped the body.
        for secret in ["SECRETTOKEN", "SECRETCODE"] { #expect(command.contains(secret), "\(secret)") }
        #expect(!command.contains("SECRETFIELD"))
        let direct = session.upload(
            Self.body, to: Self.url.replacing("/path", with: "/next"), method: .post, headers: Self.headers)
        _ = await direct.response()
        #expect(direct.cURLDescription(includingCredentials: true).contains("SECRETFIELD"))
        let archive = String(decoding: try await recorder.archive(), as: UTF8.self)
        for secret in ["SECRETTOKEN", "SECRETCOOKIE", "SECRETREFRESH", "SECRETCODE"] {
            #expect(archive.contains(secret), "\(secret)")
        }
    }
}
