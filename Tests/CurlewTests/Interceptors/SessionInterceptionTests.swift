import Curlew
import CurlewCore
import Foundation
import FoundationNetworking
import Testing

@testable import CurlewTesting

private struct RefreshRefused: Error {}

private final class CountingAuthenticator: BearerAuthenticator {
    let refreshes = Watched(0)
    let fails: Bool

    init(fails: Bool = false) { self.fails = fails }

    func refresh(_ credential: BearerToken, for session: Session) async throws -> BearerToken {
        refreshes.change { $0 += 1 }
        if fails { throw RefreshRefused() }
        return BearerToken(text: "new")
    }
}

@Suite(.timeLimit(.minutes(4)))
struct SessionInterceptionTests {
    /// Holds the 401 responses until `count` unauthorized requests have arrived.
    private func guarded(_ count: Int) -> MockTransport {
        let all = Gate()
        let arrived = Watched(0)
        return MockTransport { request in
            if request.headers["Authorization"] == "Bearer new" { return .text("welcome") }
            if arrived.change({
                $0 += 1; return $0
            }) == count {
                all.open()
            }
            try await all.wait()
            return .status(401)
        }
    }

    @Test func fiftyUnauthorizedRequestsRefreshOnceAndSucceed() async throws {
        let authenticator = CountingAuthenticator()
        let transport = guarded(50)
        let session = Session(
            transport: transport,
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: BearerToken(text: "old"))
        )
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await session.request("https://example.com/").string() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "welcome", count: 50))
        #expect(authenticator.refreshes.value == 1)
        #expect(transport.requests.count == 100)
        await session.invalidate()
    }

    @Test func failedRefreshFailsAllUnauthorizedRequests() async throws {
        let authenticator = CountingAuthenticator(fails: true)
        let transport = guarded(50)
        let session = Session(
            transport: transport,
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: BearerToken(text: "old"))
        )
        let errors = await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    do {
                        _ = try await session.request("https://example.com/").string()
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1 as? CurlewError) }
        }
        #expect(errors.allSatisfy { $0?.code == .retryFailed && $0?.underlying is RefreshRefused })
        #expect(authenticator.refreshes.value == 1)
        #expect(transport.requests.count == 50)
        await session.invalidate()
    }

    @Test(arguments: [(HTTPMethod.get, 3), (.post, 1)])
    func policyRetriesOnlyIdempotentRequests(method: HTTPMethod, sent: Int) async throws {
        let transport = MockTransport { _ in .failing(CurlewError(.receiveFailed, phase: .receive)) }
        let session = Session(transport: transport)
        let policy = RetryPolicy(exponentialBackoffScale: 0.001)
        await #expect(throws: CurlewError.self) {
            try await session.request("https://example.com/", method: method, interceptor: policy).data()
        }
        #expect(transport.requests.count == sent)
        await session.invalidate()
    }

    @Test func policiesHonourRetryAfter() async throws {
        let transport = MockTransport()
        transport.enqueue(.status(503, headers: ["Retry-After": "1"]), .text("later"))
        let session = Session(transport: transport)
        let clock = ContinuousClock()
        let start = clock.now
        let policy = RetryPolicy(exponentialBackoffScale: 0.001)
        #expect(try await session.request("https://example.com/", interceptor: policy).string() == "later")
        #expect(clock.now - start >= .milliseconds(990))
        await session.invalidate()
    }

    @Test func adaptersFailWithTheirError() async throws {
        let session = Session(transport: MockTransport { _ in .text("never") })
        let failing = Adapter { _, _ in throw RefreshRefused() }
        let error = await #expect(throws: CurlewError.self) {
            try await session.request("https://example.com/", interceptor: failing).data()
        }
        #expect(error?.code == .adaptationFailed)
        #expect(error?.underlying is RefreshRefused)
        await session.invalidate()
    }

    @Test func cancellationReachesASleepingAdapter() async throws {
        let started = Gate()
        let session = Session(transport: MockTransport { _ in .text("never") })
        let sleeping = Adapter { request, _ in
            started.open()
            try await Task.sleep(for: .seconds(600))
            return request
        }
        let task = Task { try await session.request("https://example.com/", interceptor: sleeping).data() }
        try await started.wait()
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        await session.invalidate()
    }
}
