import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

private struct RefreshRefused: Error, Equatable {}

/// Counts refreshes, and holds them at a gate if it has one.
private final class TokenAuthenticator: BearerAuthenticator {
    let refreshes = Watched(0)
    let gate: Gate?
    let fails: Bool
    let failsFinally: Bool
    /// Whether refreshed tokens require another refresh.
    let yieldsExpired: Bool
    /// The errors that were passed to `isFinal`.
    let evaluated = Watched<[String]>([])

    init(gate: Gate? = nil, fails: Bool = false, failsFinally: Bool = false, yieldsExpired: Bool = false) {
        self.gate = gate
        self.fails = fails || failsFinally
        self.failsFinally = failsFinally
        self.yieldsExpired = yieldsExpired
    }

    func refresh(_ credential: BearerToken, for session: Session) async throws -> BearerToken {
        let count = refreshes.change { count in
            count += 1
            return count
        }
        try await gate?.wait()
        if fails { throw RefreshRefused() }
        return BearerToken(text: "new\(count)", requiresRefresh: yieldsExpired)
    }

    func isFinal(_ error: any Error, refreshing credential: BearerToken) -> Bool {
        evaluated.change { $0.append("\(error)") }
        return failsFinally
    }
}

@Suite(.timeLimit(.minutes(4)))
struct AuthenticationInterceptorTests {
    let session = Session(transport: MockTransport())
    let url = URL(string: "https://example.com/")!

    private func request(_ token: String? = nil) -> URLRequest {
        var request = URLRequest(url: url)
        if let token { request.headers.add(.authorization(bearerToken: token)) }
        return request
    }

    private func response(_ status: Int = 401) throws -> HTTPURLResponse {
        try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
    }

    private let failure = CurlewError(.unacceptableStatus, phase: .validation, responseCode: 401)

    private func adapted(
        by interceptor: AuthenticationInterceptor<TokenAuthenticator>
    ) async throws -> String? {
        let state = RequestAdapterState(requestID: UUID(), session: session)
        return try await interceptor.adapt(request(), using: state).headers["Authorization"]
    }

    private func result(
        of interceptor: AuthenticationInterceptor<TokenAuthenticator>,
        sentWith token: String? = "old",
        status: Int = 401
    ) async throws -> String {
        switch await interceptor.retry(request(token), try response(status), for: session, dueTo: failure) {
        case .retry: "retry"
        case .retryWithDelay: "retry with delay"
        case .doNotRetry: "do not retry"
        case .doNotRetryWithError(let error): "\(error)"
        }
    }

    @Test func appliesTheCredential() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(), credential: BearerToken(text: "old"))
        #expect(try await adapted(by: interceptor) == "Bearer old")
        interceptor.credential = BearerToken(text: "other")
        #expect(try await adapted(by: interceptor) == "Bearer other")
    }

    @Test func failsWithoutACredential() async throws {
        let interceptor = AuthenticationInterceptor(authenticator: TokenAuthenticator())
        await #expect(throws: AuthenticationError.missingCredential) { try await adapted(by: interceptor) }
        #expect(try await result(of: interceptor) == "missingCredential")
    }

    @Test func doesNotRetryOtherFailures() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(), credential: BearerToken(text: "old"))
        #expect(try await result(of: interceptor, status: 500) == "do not retry")
        #expect(interceptor.authenticator.refreshes.value == 0)
    }

    @Test func requestSentWithOldCredentialIsRetriedAtOnce() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(), credential: BearerToken(text: "now"))
        #expect(try await result(of: interceptor, sentWith: "old") == "retry")
        #expect(try await result(of: interceptor, sentWith: nil) == "retry")
        #expect(interceptor.authenticator.refreshes.value == 0)
    }

    @Test func fiftyUnauthorizedRequestsShareOneRefresh() async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate),
            credential: BearerToken(text: "old")
        )
        let results = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await result(of: interceptor) } }
            _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == Array(repeating: "retry", count: 50))
        #expect(interceptor.authenticator.refreshes.value == 1)
        #expect(interceptor.credential == BearerToken(text: "new1"))
    }

    @Test func fiftyRequestsWaitForOneProactiveRefresh() async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate),
            credential: BearerToken(text: "old", requiresRefresh: true)
        )
        let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { try await adapted(by: interceptor) } }
            _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: "Bearer new1", count: 50))
        #expect(interceptor.authenticator.refreshes.value == 1)
    }

    @Test func failedRefreshFailsAllWaitingRequests() async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate, fails: true),
            credential: BearerToken(text: "old")
        )
        let results = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await result(of: interceptor) } }
            _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == Array(repeating: "RefreshRefused()", count: 50))
        #expect(interceptor.authenticator.refreshes.value == 1)
        // A retry that asks late receives the stored failure …
        #expect(try await result(of: interceptor) == "RefreshRefused()")
        #expect(interceptor.authenticator.refreshes.value == 1)
        // … and a new request may refresh again.
        #expect(try await adapted(by: interceptor) == "Bearer old")
        #expect(try await result(of: interceptor) == "RefreshRefused()")
        #expect(interceptor.authenticator.refreshes.value == 2)
    }

    @Test func failedProactiveRefreshFailsTheAdapters() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(fails: true),
            credential: BearerToken(text: "old", requiresRefresh: true)
        )
        await #expect(throws: RefreshRefused.self) { try await adapted(by: interceptor) }
    }

    @Test(
        "after a final refresh failure, no refresh begins until the credential is set again",
        arguments: [false, true])
    func finalFailures(requiresRefresh: Bool) async throws {
        let old = BearerToken(text: "old", requiresRefresh: requiresRefresh)
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(failsFinally: true), credential: old)
        for refreshes in 1...2 {
            for _ in 0..<3 {
                if requiresRefresh {
                    await #expect(throws: RefreshRefused()) { try await adapted(by: interceptor) }
                } else {
                    // Another server may still accept it.
                    #expect(try await adapted(by: interceptor) == "Bearer old")
                    #expect(try await result(of: interceptor) == "RefreshRefused()")
                }
            }
            #expect(interceptor.authenticator.refreshes.value == refreshes)
            #expect(interceptor.authenticator.evaluated.value == Array(repeating: "RefreshRefused()", count: refreshes))
            interceptor.credential = BearerToken(text: "other")
            #expect(try await adapted(by: interceptor) == "Bearer other")
            // The user may set the same credential again.
            interceptor.credential = old
        }
    }

    @Test("a refresh that the refresh window refuses is not passed to isFinal", arguments: [false, true])
    func excessiveRefreshesAreNotFinal(requiresRefresh: Bool) async throws {
        let authenticator = TokenAuthenticator(failsFinally: true)
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: BearerToken(text: "old", requiresRefresh: requiresRefresh),
            refreshWindow: .init(interval: 300, maximumAttempts: 0))
        for _ in 0..<2 {
            if requiresRefresh {
                await #expect(throws: AuthenticationError.excessiveRefresh) { try await adapted(by: interceptor) }
            } else {
                #expect(try await result(of: interceptor) == "excessiveRefresh")
            }
        }
        #expect(authenticator.refreshes.value == 0 && authenticator.evaluated.value.isEmpty)
    }

    @Test("a credential that is set during a refresh with a final failure is used, and refreshed later")
    func credentialDuringFinalFailure() async throws {
        let gate = Gate()
        let authenticator = TokenAuthenticator(gate: gate, failsFinally: true)
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: BearerToken(text: "old", requiresRefresh: true))
        let adapter = Task { try await adapted(by: interceptor) }
        _ = await authenticator.refreshes.wait { $0 == 1 }
        interceptor.credential = BearerToken(text: "other")
        gate.open()
        #expect(try await adapter.value == "Bearer other")
        // The failure of another credential's refresh is not passed to `isFinal`.
        #expect(authenticator.evaluated.value.isEmpty)
        #expect(try await result(of: interceptor, sentWith: "other") == "RefreshRefused()")
        #expect(authenticator.refreshes.value == 2)
        // A final failure for the current credential prevents further refreshes.
        interceptor.credential = BearerToken(text: "last", requiresRefresh: true)
        for _ in 0..<2 { await #expect(throws: RefreshRefused()) { try await adapted(by: interceptor) } }
        #expect(authenticator.refreshes.value == 3 && authenticator.evaluated.value.count == 2)
    }

    @Test func cancellingOneWaiterDoesNotCancelTheRefresh() async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate),
            credential: BearerToken(text: "old")
        )
        let first = Task { try await result(of: interceptor) }
        _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
        let second = Task { try await result(of: interceptor) }
        first.cancel()
        #expect(try await first.value == "do not retry")
        #expect(interceptor.credential == BearerToken(text: "old"))
        gate.open()
        #expect(try await second.value == "retry")
        #expect(interceptor.credential == BearerToken(text: "new1"))
        #expect(interceptor.authenticator.refreshes.value == 1)
    }

    @Test func cancellingAnAdapterEndsItsWait() async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate),
            credential: BearerToken(text: "old", requiresRefresh: true)
        )
        let task = Task { try await adapted(by: interceptor) }
        _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        #expect(try await adapted(by: interceptor) == "Bearer new1")
    }

    @Test func adaptersDoNotWaitForRefreshBegunByRetry() async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate),
            credential: BearerToken(text: "old")
        )
        let retry = Task { try await result(of: interceptor) }
        _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
        #expect(try await adapted(by: interceptor) == "Bearer old")
        gate.open()
        #expect(try await retry.value == "retry")
    }

    @Test(arguments: [false, true])
    func assignedCredentialOverridesRefresh(fails: Bool) async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate, fails: fails),
            credential: BearerToken(text: "old")
        )
        let retry = Task { try await result(of: interceptor) }
        _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
        interceptor.credential = BearerToken(text: "logged in again")
        gate.open()
        #expect(try await retry.value == "retry")
        #expect(interceptor.credential == BearerToken(text: "logged in again"))
    }

    @Test func adaptersUseAssignedCredentialIfRefreshFails() async throws {
        let gate = Gate()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(gate: gate, fails: true),
            credential: BearerToken(text: "old", requiresRefresh: true)
        )
        let adapter = Task { try await adapted(by: interceptor) }
        _ = await interceptor.authenticator.refreshes.wait { $0 == 1 }
        interceptor.credential = BearerToken(text: "logged in again")
        gate.open()
        #expect(try await adapter.value == "Bearer logged in again")
    }

    @Test(arguments: [0, 1, 3])
    func tooManyRefreshesFail(allowed: Int) async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(),
            credential: BearerToken(text: "old"),
            refreshWindow: .init(interval: 300, maximumAttempts: allowed)
        )
        var token = "old"
        for _ in 0..<allowed {
            #expect(try await result(of: interceptor, sentWith: token) == "retry")
            token = try #require(interceptor.credential?.text)
        }
        #expect(try await result(of: interceptor, sentWith: token) == "excessiveRefresh")
        #expect(interceptor.authenticator.refreshes.value == allowed)
    }

    @Test func tokenThatStaysExpiredFailsWithExcessiveRefresh() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(yieldsExpired: true),
            credential: BearerToken(text: "old", requiresRefresh: true)
        )
        await #expect(throws: AuthenticationError.excessiveRefresh) { try await adapted(by: interceptor) }
        #expect(interceptor.authenticator.refreshes.value == 5)
    }

    @Test func withoutAWindowRefreshesAreNotCounted() async throws {
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(),
            credential: BearerToken(text: "old"),
            refreshWindow: nil
        )
        for _ in 0..<20 {
            #expect(try await result(of: interceptor, sentWith: interceptor.credential?.text) == "retry")
        }
        #expect(interceptor.authenticator.refreshes.value == 20)
    }

    /// Adapts a request with the interceptor that it refreshes for.
    private final class AdaptingAuthenticator: BearerAuthenticator {
        let interceptor = Watched<AuthenticationInterceptor<AdaptingAuthenticator>?>(nil)

        func refresh(_ credential: BearerToken, for session: Session) async throws -> BearerToken {
            let url = URL(string: "https://example.com/token")!
            let state = RequestAdapterState(requestID: UUID(), session: session)
            let own = try await interceptor.value?.adapt(URLRequest(url: url), using: state)
            return BearerToken(text: "by \(own?.headers["Authorization"] ?? "nobody")")
        }
    }

    @Test func requestsSentByRefreshDoNotWaitForIt() async throws {
        let authenticator = AdaptingAuthenticator()
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator,
            credential: BearerToken(text: "old", requiresRefresh: true)
        )
        authenticator.interceptor.change { $0 = interceptor }
        let state = RequestAdapterState(requestID: UUID(), session: session)
        let adapted = try await interceptor.adapt(request(), using: state)
        #expect(adapted.headers["Authorization"] == "Bearer by Bearer old")
        authenticator.interceptor.change { $0 = nil }
    }

    @Test func taskStartedByRefreshMayRefreshAfterItEnded() async throws {
        final class Starting: Authenticator {
            let later = Watched<(@Sendable () async -> RetryResult)?>(nil)
            let started = Watched<Task<RetryResult, any Error>?>(nil)
            let refreshes = Watched(0)
            let gate = Gate()

            func apply(_ credential: BearerToken, to urlRequest: inout URLRequest) {}

            func refresh(_ credential: BearerToken, for session: Session) async throws -> BearerToken {
                let isFirst = refreshes.change { count in
                    count += 1
                    return count == 1
                }
                if isFirst {
                    started.change { [gate, later] task in
                        task = Task {
                            try await gate.wait()
                            return await later.value?() ?? .doNotRetry
                        }
                    }
                }
                return BearerToken(text: "new")
            }

            func didRequest(
                _ urlRequest: URLRequest,
                with response: HTTPURLResponse,
                failDueToAuthenticationError error: any Error
            ) -> Bool { true }

            func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: BearerToken) -> Bool { true }
        }
        let authenticator = Starting()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: BearerToken(text: "old"))
        let (request, response) = (request("old"), try response())
        authenticator.later.change { [session, failure] later in
            later = { await interceptor.retry(request, response, for: session, dueTo: failure) }
        }
        guard case .retry = await interceptor.retry(request, response, for: session, dueTo: failure) else {
            Issue.record("the first refresh does not lead to a retry")
            return
        }
        authenticator.gate.open()
        let result = try await authenticator.started.value?.value
        guard case .retry? = result else {
            Issue.record("the task's 401 is not refreshed: \(String(describing: result))")
            return
        }
        #expect(authenticator.refreshes.value == 2)
        authenticator.later.change { $0 = nil }
    }
}
