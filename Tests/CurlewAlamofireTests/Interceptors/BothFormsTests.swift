import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

private struct Completing: RequestInterceptor {
    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(urlRequest.marked("completion")))
    }

    func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(error is CurlewError && request.retryCount == 0 ? .retry : .doNotRetry)
    }
}

private struct Waiting: RequestInterceptor {
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        urlRequest.marked("async")
    }

    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        error is CurlewError && request.retryCount == 0 ? .retry : .doNotRetry
    }
}

/// The forms of `Curlew`'s own protocols.
private struct Core: RequestInterceptor {
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        urlRequest.marked("core")
    }

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        error.responseCode == 503 && request.retryCount == 0 ? .retry : .doNotRetry
    }
}

/// Conforms to `Curlew`'s protocol, as a type of a library that imports `Curlew` does.
private struct Foreign: Curlew.RequestInterceptor {
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        urlRequest.marked("foreign")
    }

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        request.retryCount == 0 ? .retry : .doNotRetry
    }
}

private struct Silent: RequestInterceptor, RedirectHandler, CachedResponseHandler {}

// Parameters have the types of Curlew's protocols, so extensions of those protocols declare the static members.
extension Curlew.RequestInterceptor where Self == Completing {
    fileprivate static var completing: Completing { Completing() }
}

extension Curlew.RedirectHandler where Self == Silent {
    fileprivate static var silent: Silent { Silent() }
}

extension Curlew.CachedResponseHandler where Self == Silent {
    fileprivate static var silent: Silent { Silent() }
}

private struct Token: AuthenticationCredential, Sendable {
    var text: String
    var requiresRefresh = false
}

private final class RefreshlessAuthenticator: Authenticator {
    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.text))
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.text)"
    }
}

private final class CompletingAuthenticator: Authenticator {
    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.text))
    }

    func refresh(
        _ credential: Token, for session: Session, completion: @escaping @Sendable (Result<Token, any Error>) -> Void
    ) {
        completion(.success(Token(text: "new")))
        completion(.success(Token(text: "newer")))
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.text)"
    }
}

private struct Uncached: CachedResponseHandler {
    func dataTask(
        _ task: URLSessionTask,
        willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completion(response.data == Data("no".utf8) ? nil : response)
        completion(response)
    }
}

/// A program that imports only CurlewAlamofire may implement any form of each protocol.
@Suite("Both forms of each protocol", .timeLimit(.minutes(4)))
struct BothFormsTests {
    private let flaky = MockTransport { $0.headers["Marks"].map { .status(503, headers: ["Marks": $0]) } ?? .text("") }

    @Test(
        arguments: [
            (Completing(), "completion"), (Waiting(), "async"), (Core(), "core"), (Foreign(), "foreign"),
            (Interceptor(interceptors: [Completing(), Waiting(), Core(), Foreign()]), "completion async core foreign"),
        ] as [(any Curlew.RequestInterceptor, String)])
    func sessionCallsTheImplementedForm(interceptor: any Curlew.RequestInterceptor, marks: String) async {
        let request = Session(transport: flaky, interceptor: interceptor).request("https://example.org/").validate()
        let response = await request.serializingData().response
        #expect(response.response?.headers["Marks"] == marks)
        #expect(request.retryCount == 1)
    }

    @Test func interceptorWithoutMethodsChangesNothing() async throws {
        let silent = Silent()
        let transport = MockTransport { $0.url.path == "/" ? .redirect(to: "/end") : .status(503) }
        let session = Session(transport: transport, interceptor: silent, redirectHandler: silent)
        let request = session.request("https://example.org/").validate()
        let error = await request.serializingData().response.error
        #expect(error?.responseCode == 503)
        #expect(request.retryCount == 0)
        #expect(transport.requests.map(\.url.path) == ["/", "/end"])
        let stored = CachedResponse(
            response: try #require(
                HTTPURLResponse(url: URL(filePath: "/"), statusCode: 200, httpVersion: nil, headerFields: nil)),
            data: Data("a".utf8))
        #expect(await silent.dataTask(TaskIdentifier(rawValue: 1), willCacheResponse: stored)?.data == stored.data)
    }

    @Test func coreInterceptorsCallTheCompletion() async throws {
        let session = Session(transport: MockTransport())
        let interceptor = Interceptor(interceptors: [Completing(), Foreign()])
        let plain = URLRequest(url: URL(filePath: "/"))
        let adapted = try await withCheckedThrowingContinuation { continuation in
            interceptor.adapt(plain, for: session) { continuation.resume(with: $0) }
        }
        #expect(adapted.headers["Marks"] == "completion foreign")
        struct Failure: Error {}
        let request = session.request("https://example.org/")
        let answer = await withCheckedContinuation { continuation in
            interceptor.retry(request, for: session, dueTo: Failure()) { continuation.resume(returning: "\($0)") }
        }
        #expect(answer == "retry")
    }

    @Test func onlyFirstCompletionOfAuthenticatorIsUsed() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: CompletingAuthenticator(), credential: Token(text: "old"))
        let transport = MockTransport { $0.headers["Authorization"] == "Bearer new" ? .text("in") : .status(401) }
        let session = Session(transport: transport, interceptor: interceptor)
        #expect(try await session.request("https://example.org/").string() == "in")
        #expect(interceptor.credential?.text == "new")
    }

    @Test func authenticatorWithoutRefreshIsUnsupported() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: RefreshlessAuthenticator(), credential: Token(text: "old", requiresRefresh: true))
        let session = Session(transport: MockTransport())
        let plain = URLRequest(url: URL(filePath: "/"))
        let error = await #expect(throws: CurlewError.self) { try await interceptor.adapt(plain, for: session) }
        #expect(error?.code == .unsupported)
    }

    @Test func aCachedResponseHandlerCompletesOnce() async throws {
        let transport = MockTransport { request in
            var response = MockResponse.text(String(request.url.path.dropFirst()))
            response.headers.append(name: "Cache-Control", value: "max-age=60")
            return response
        }
        let configuration = SessionConfiguration { $0.cache = ResponseCache() }
        let session = Session(
            configuration: configuration, transport: transport, cachedResponseHandler: Uncached())
        for path in ["no", "yes", "no", "yes"] { _ = try await session.request("https://example.org/\(path)").data() }
        #expect(transport.requests.map(\.url.path) == ["/no", "/yes", "/no"])
    }

    @Test func staticMembersOfCoreProtocolsCanBeParameters() async {
        let session = Session(
            transport: flaky, interceptor: .completing, redirectHandler: .silent, cachedResponseHandler: .silent)
        let request = session.request("https://example.org/", interceptor: .completing)
            .redirect(using: .silent)
            .cacheResponse(using: .silent)
        let response = await request.serializingData().response
        #expect(response.response?.headers["Marks"] == "completion completion")
        #expect(session.interceptor is any RequestInterceptor)
        #expect(session.redirectHandler is any RedirectHandler)
        #expect(session.cachedResponseHandler is any CachedResponseHandler)
    }

    @Test func retryPolicyParametersAreThoseOfThisModule() {
        let interceptors: [any Curlew.RequestInterceptor] = [
            .retryPolicy, .retryPolicy(retryLimit: 5), .connectionLostRetryPolicy,
            .connectionLostRetryPolicy(retryLimit: 1),
        ]
        #expect(interceptors.compactMap { ($0 as? RetryPolicy)?.retryLimit } == [2, 5, 2, 1])
        #expect(interceptors.map { $0 is ConnectionLostRetryPolicy } == [false, false, true, true])
        #expect(Session(interceptor: .retryPolicy).interceptor is RetryPolicy)
        #expect(Session(interceptor: .connectionLostRetryPolicy).interceptor is ConnectionLostRetryPolicy)
    }

    @Test func retryPolicyShorthandWorksForEveryType() async {
        let mine: any RequestInterceptor = .retryPolicy
        let typed: RetryPolicy = .retryPolicy(retryLimit: 1)
        #expect((mine as? RetryPolicy)?.retryLimit == 2)
        #expect(typed.retryLimit == 1)
        let request = Session(transport: MockTransport { _ in .status(503) }).request(
            "https://example.org/", interceptor: .retryPolicy(retryLimit: 1, exponentialBackoffScale: 0))
        _ = await request.validate().serializingData().response
        #expect(request.retryCount == 1)
    }
}
