import CurlewCore
import CurlewLocks
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew
@testable import CurlewTesting

/// Codes of several requests end the session at once: none of the requests can end before its code returns.
@Suite("Requests whose code waits for each other", .timeLimit(.minutes(2)))
struct MutualWaitsTests {
    typealias Wait = WaitingFromOwnCodeTests.Wait

    /// A session whose server refuses every request, which makes the retriers run.
    private let session = Session(
        transport: MockTransport { $0.path == "/ok" ? .text("x") : MockResponse(status: 401) })

    /// Sends a request whose retrier runs the code.
    private func request(_ code: @escaping @Sendable (Session) async -> Void) -> Task<CurlewError?, Never> {
        let retrier = Retrier { _, session, _ in
            await code(session)
            return .doNotRetry
        }
        let request = session.request("https://e.com/", interceptor: retrier).validate()
        return Task { await request.response().error }
    }

    @Test("two retriers wait", arguments: Wait.allCases, Wait.allCases)
    func twoRetriers(_ first: Wait, _ second: Wait) async throws {
        let (both, returned) = (Gate(), Gate())
        let tasks = [first, second].map { wait in
            request { session in
                await withoutCancellation { try? await both.wait() }
                await wait(session)
            }
        }
        try await both.waitForArrivals(count: 2)
        both.open()
        Task {
            for task in tasks { _ = await task.value }
            returned.open()
        }
        try await eventually(within: .seconds(10)) { returned.isOpen }
    }

    @Test("waits of user code alone leave out requests whose code waits")
    func outside() throws {
        var registry = RequestRegistry()
        let request = session.request("https://e.com/")
        let name = try registry.join(request, as: nil)
        let outside = registry.wait(for: [request], isUserCode: false)
        let inside = registry.wait(for: [request], isUserCode: true)
        #expect(registry.codeBeginsToWait(of: request).map { $0 === inside } == [true])
        #expect(registry.wait(for: [request], isUserCode: true) == nil)
        registry.codeStopsWaiting(of: request)
        #expect(registry.wait(for: [request], isUserCode: true) != nil)
        #expect(registry.leave(request, last: name).contains { $0 === outside })
        #expect(!registry.hasWaiters)
    }

    @Test("code of two sessions waits for the other session")
    func twoSessions() async throws {
        let other = MutualWaitsTests()
        let (both, returned) = (Gate(), Gate())
        let tasks = [
            request { _ in
                try? await both.wait()
                await other.session.drain()
            },
            other.request { [session] _ in
                try? await both.wait()
                await session.drain()
            },
        ]
        try await both.waitForArrivals(count: 2)
        both.open()
        Task {
            for task in tasks { _ = await task.value }
            returned.open()
        }
        try await eventually(within: .seconds(10)) { returned.isOpen }
    }

    /// The second request waits for the refresh before or after the refresh begins to wait.
    @Test("a refresh waits, and two requests wait for it", arguments: Wait.allCases)
    func refresh(_ wait: Wait) async throws {
        let (gate, returned) = (Gate(), Gate())
        let authenticator = WaitingAuthenticator {
            await withoutCancellation { try? await gate.wait() }
            await wait($0)
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: WaitingAuthenticator.Token(requiresRefresh: true))
        let requests = (0..<2).map { _ in session.request("https://e.com/ok", interceptor: interceptor) }
        let tasks = requests.map { request in Task { await request.response().error } }
        try await gate.waitForArrivals(count: 1)
        try await eventually { session.registry.withLock { $0.activeRequests.count } == 2 }
        gate.open()
        Task {
            for task in tasks { _ = await task.value }
            returned.open()
        }
        try await eventually(within: .seconds(10)) { returned.isOpen }
    }

    @Test("a second invalidation, from code of a request that the first waits for")
    func secondInvalidation() async throws {
        let (gate, returned) = (Gate(), Gate())
        let task = request { session in
            await withoutCancellation { try? await gate.wait() }
            await session.invalidate()
        }
        try await gate.waitForArrivals(count: 1)
        Task {
            await session.invalidate()
            returned.open()
        }
        try await eventually { session.hasWaiters }
        gate.open()
        try await eventually(within: .seconds(10)) { returned.isOpen }
        _ = await task.value
    }

    @Test("a completion of cancelling all requests comes after the end of the request whose code asks")
    func completion() async throws {
        let (gate, completed) = (Gate(), Gate())
        let task = request { session in
            session.cancelAllRequests(completingOnQueue: .global()) { completed.open() }
            await withoutCancellation { try? await gate.wait() }
        }
        try await gate.waitForArrivals(count: 1)
        try await eventually { completed.isOpen || session.hasWaiters }
        #expect(!completed.isOpen)
        gate.open()
        try await eventually(within: .seconds(10)) { completed.isOpen }
        _ = await task.value
    }

    @Test("a cancellation that comes as a scope's session begins to drain ends the wait")
    func scope() async throws {
        let (gate, returned) = (Gate(), Gate())
        let task = request { _ in await withoutCancellation { try? await gate.wait() } }
        try await gate.waitForArrivals(count: 1)
        Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await session.drain(isCleaningUp: false)
            returned.open()
        }
        try await eventually(within: .seconds(10)) { returned.isOpen }
        gate.open()
        _ = await task.value
    }

    @Test("calls that have returned are not kept by the tasks that they started")
    func chains() async throws {
        let probes = Lock<[Weak]>([])
        let last = Gate()
        link(100, probes, last)
        try await last.waitForArrivals(count: 1)
        try await eventually(within: .seconds(10)) { probes.withLock { $0.filter { $0.object != nil }.count } < 10 }
        last.open()
    }

    /// Each call starts a task with the next one, and returns when that one has begun.
    private func link(_ count: Int, _ probes: Lock<[Weak]>, _ last: Gate, _ began: Gate = Gate()) {
        let request = session.request("https://e.com/")
        Task {
            await UserCode.call(for: request) {
                if let call = UserCode.current { probes.withLock { $0.append(Weak(object: call)) } }
                began.open()
                guard count > 0 else { return (try? await last.wait()) ?? () }
                let next = Gate()
                link(count - 1, probes, last, next)
                try? await next.wait()
            }
        }
    }
}

private struct Weak: Sendable {
    weak var object: UserCode?
}

/// Waits although the calling task is cancelled, as code of a user may.
private func withoutCancellation(_ work: @escaping @Sendable () async -> Void) async {
    await Task(operation: work).value
}

extension Session {
    fileprivate nonisolated var hasWaiters: Bool { registry.withLock { $0.hasWaiters } }
}

private final class WaitingAuthenticator: Authenticator {
    struct Token: AuthenticationCredential {
        let requiresRefresh: Bool
    }

    private let code: @Sendable (Session) async -> Void

    init(_ code: @escaping @Sendable (Session) async -> Void) { self.code = code }

    func apply(_ credential: Token, to urlRequest: inout URLRequest) {}

    func refresh(_ credential: Token, for session: Session) async throws -> Token {
        await code(session)
        return Token(requiresRefresh: false)
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { false }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool { true }
}
