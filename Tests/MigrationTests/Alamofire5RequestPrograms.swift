import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// Programs written for Alamofire 5, with the import changed: requests.
@Suite(.timeLimit(.minutes(4)))
struct Alamofire5RequestPrograms {
    let server: TestServer
    var base: String { server.address }

    init() throws { server = try TestServer() }

    // 1
    @Test func decodesWithAHandler() async throws {
        server.route("/item") { _ in .json(Item()) }
        let response = await completed { done in
            AF.request("\(base)/item").responseDecodable(of: Item.self) { response in
                debugPrint(response)
                done(response)
            }
        }
        #expect(response.value == Item())
        #expect(response.response?.statusCode == 200)
    }

    // 2
    @Test func sendsParametersAsJSON() async throws {
        let echo = await completed { done in
            AF.request("\(base)/post", method: .post, parameters: Item(id: 7), encoder: JSONParameterEncoder.default)
                .validate()
                .responseDecodable(of: Echo.self) { done($0.value) }
        }
        #expect(echo?.data == #"{"id":7,"name":"Ada"}"# || echo?.data == #"{"name":"Ada","id":7}"#)
        #expect(echo?.headers["Content-Type"] == "application/json")
    }

    // 3
    @Test func awaitsAValue() async throws {
        server.route("/item") { _ in .json(Item(name: "Grace")) }
        let value = try await AF.request("\(base)/item").serializingDecodable(Item.self).value
        #expect(value.name == "Grace")
    }

    // 4
    @Test func writesAQuery() async throws {
        let parameters: Parameters = ["tags": ["a", "b"], "page": 2, "all": true]
        let headers: HTTPHeaders = ["Accept": "application/json", "X-Token": "abc"]
        let response = await AF.request("\(base)/get", parameters: parameters, headers: headers).serializingData()
            .response
        #expect(response.error == nil)
        #expect(server.requests[0].rawQuery == "all=1&page=2&tags%5B%5D=a&tags%5B%5D=b")
        #expect(server.requests[0].headers["X-Token"] == "abc")
    }

    // 5
    @Test func authenticates() async throws {
        let request = AF.request("\(base)/basic-auth/ada/secret").authenticate(username: "ada", password: "secret")
        #expect(await request.serializingData().response.response?.statusCode == 200)
        let headers: HTTPHeaders = [.authorization(username: "ada", password: "secret"), .accept("application/json")]
        let sent = AF.request("\(base)/basic-auth/ada/secret", headers: headers)
        #expect(await sent.serializingData().response.response?.statusCode == 200)
    }

    // 6
    @Test func validatesAndTakesTheErrorApart() async throws {
        let response = await completed { done in
            AF.request("\(base)/status/404")
                .validate(statusCode: 200..<300)
                .validate(contentType: ["application/json"])
                .responseData { done($0) }
        }
        switch response.result {
        case .success: Issue.record("no error")
        case .failure(let error):
            #expect(error.isResponseValidationError)
            #expect(error.responseCode == 404)
            if case .responseValidationFailed(reason: .unacceptableStatusCode(code: let code))? = error.afError {
                #expect(code == 404)
            } else {
                Issue.record("\(error)")
            }
        }
    }

    // 7
    enum Router: URLRequestConvertible {
        case item(Int)
        case create(Item)

        // SAFETY: written once, by the one test that reads it.
        nonisolated(unsafe) static var base = ""

        var method: HTTPMethod {
            switch self {
            case .item: return .get
            case .create: return .post
            }
        }

        var path: String {
            switch self {
            case .item(let id): return "items/\(id)"
            case .create: return "items"
            }
        }

        func asURLRequest() throws -> URLRequest {
            let url = try Router.base.asURL()
            var request = URLRequest(url: url.appendingPathComponent(path))
            request.method = method
            switch self {
            case .item: request = try URLEncodedFormParameterEncoder().encode(["full": "1"], into: request)
            case .create(let item): request = try JSONParameterEncoder().encode(item, into: request)
            }
            return request
        }
    }

    @Test func routes() async throws {
        server.route("/items/{id}") { request in .json(Item(id: Int(request.parameters["id"] ?? "") ?? 0)) }
        server.route("/items", methods: [.post]) { _ in .status(201) }
        Router.base = base
        #expect(try await AF.request(Router.item(5)).serializingDecodable(Item.self).value.id == 5)
        #expect(
            await AF.request(Router.create(Item())).serializingData(emptyResponseCodes: [201]).response.error == nil)
        #expect(server.requests.map(\.target) == ["/items/5?full=1", "/items"])
    }

    // 8
    final class TokenInterceptor: RequestInterceptor {
        let token = Token()

        // SAFETY: the lock guards the value.
        final class Token: @unchecked Sendable {
            private let lock = NSLock()
            private var value = "old"

            func read() -> String { lock.withLock { value } }
            func renew() { lock.withLock { value = "new" } }
        }

        func adapt(
            _ urlRequest: URLRequest, for session: Session,
            completion: @escaping (Result<URLRequest, any Error>) -> Void
        ) {
            var urlRequest = urlRequest
            urlRequest.headers.add(.authorization(bearerToken: token.read()))
            completion(.success(urlRequest))
        }

        func retry(
            _ request: Request, for session: Session, dueTo error: any Error,
            completion: @escaping (RetryResult) -> Void
        ) {
            guard request.response?.statusCode == 401, request.retryCount < 1 else { return completion(.doNotRetry) }
            token.renew()
            completion(.retry)
        }
    }

    @Test func intercepts() async throws {
        server.route("/private") { .status($0.headers["Authorization"] == "Bearer new" ? 204 : 401) }
        let session = Session(interceptor: TokenInterceptor())
        let response = await completed { done in
            session.request("\(base)/private").validate().response { done($0) }
        }
        #expect(response.error == nil)
        #expect(server.requests.compactMap { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
    }

    // 9
    struct OAuthCredential: AuthenticationCredential {
        let accessToken: String
        let expiration: Date
        var requiresRefresh: Bool { Date(timeIntervalSinceNow: 60) > expiration }
    }

    final class OAuthAuthenticator: Authenticator {
        func apply(_ credential: OAuthCredential, to urlRequest: inout URLRequest) {
            urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
        }

        func refresh(
            _ credential: OAuthCredential, for session: Session,
            completion: @escaping (Result<OAuthCredential, any Error>) -> Void
        ) {
            completion(.success(OAuthCredential(accessToken: "fresh", expiration: .distantFuture)))
        }

        func didRequest(
            _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
        ) -> Bool {
            response.statusCode == 401
        }

        func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: OAuthCredential) -> Bool {
            urlRequest.headers["Authorization"] == HTTPHeader.authorization(bearerToken: credential.accessToken).value
        }
    }

    @Test func refreshesCredentials() async throws {
        server.route("/private") { .status($0.headers["Authorization"] == "Bearer fresh" ? 204 : 401) }
        let interceptor = AuthenticationInterceptor(
            authenticator: OAuthAuthenticator(),
            credential: OAuthCredential(accessToken: "stale", expiration: .distantFuture))
        let session = Session()
        let request = session.request("\(base)/private", interceptor: interceptor).validate()
        #expect(await request.serializingData().response.error == nil)
        #expect(interceptor.credential?.accessToken == "fresh")
    }

    // 10
    @Test func retriesByPolicy() async throws {
        server.script("/flaky", .status(503), .status(503), .json(Item()))
        let policy = RetryPolicy(retryLimit: 3, exponentialBackoffScale: 0.01)
        let session = Session(interceptor: policy)
        let response = await session.request("\(base)/flaky").validate().serializingDecodable(Item.self).response
        #expect(response.value == Item())
        #expect(server.requests.count == 3)
    }
}
