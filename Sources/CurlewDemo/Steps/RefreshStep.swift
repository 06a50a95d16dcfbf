internal import Curlew
internal import CurlewTesting
internal import Foundation

enum RefreshStep: DemoStep {
    static let title = "Fifty requests with an old token: one refresh"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        stage.server.route("/account/{id}") { request in
            request.headers["Authorization"] == "Bearer fresh"
                ? .text("account \(request.parameters["id"] ?? "")") : .status(401)
        }
        stage.server.route("/token", methods: [.post]) { _ in
            TestServer.Response.text("fresh").delayed(by: .milliseconds(200))
        }
        let server = stage.server.url("")
        // show
        struct Token: AuthenticationCredential { var value: String, requiresRefresh = false }

        final class TokenAuthenticator: Authenticator {
            let server: URL
            init(server: URL) { self.server = server }

            func apply(_ token: Token, to request: inout URLRequest) {
                request.headers.add(.authorization(bearerToken: token.value))
            }
            func refresh(_ token: Token, for session: Session) async throws -> Token {
                Token(value: try await session.request("\(server)/token", method: .post).string())
            }
            func didRequest(
                _ request: URLRequest, with response: HTTPURLResponse,
                failDueToAuthenticationError error: any Error
            ) -> Bool { response.statusCode == 401 }
            func isRequest(_ request: URLRequest, authenticatedWith token: Token) -> Bool {
                request.headers["Authorization"] == "Bearer \(token.value)"
            }
        }

        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(server: server), credential: Token(value: "old"))
        let session = Session()
        let accounts = try await withThrowingTaskGroup(of: String.self) { group in
            for id in 1...50 {
                group.addTask {
                    try await session.request("\(server)/account/\(id)", interceptor: interceptor).string()
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        // end
        let refreshes = stage.server.requests.count { $0.path == "/token" }
        let refused = stage.server.requests.count { $0.headers["Authorization"] == "Bearer old" }
        try expect(accounts.count == 50, "\(accounts.count) of 50 came back")
        try expect(refreshes == 1, "the token was refreshed \(refreshes) times")
        stage.worked("50 answers; \(refused) were refused first, and \(refreshes) refresh served them all")
    }
}
