import CurlewCore
import CurlewLocks
import Foundation
import FoundationNetworking
import Testing

import struct CurlewAlamofire.DataStreamTask

@testable import Curlew
@testable import CurlewTesting

/// User code of several requests ends the session at once. None of the requests can end before its code returns.
@Suite("Requests whose code waits for each other", .timeLimit(.minutes(2)))
struct MutualWaitsTests {
    typealias Wait = WaitingFromOwnCodeTests.Wait

    /// A session whose server refuses every request except `/ok`, so that retriers run.
    private let session = Session(
        transport: MockTransport { $0.path == "/ok" ? .text("x") : MockResponse(status: 401) })

    /// Sends a request whose retrier runs `code`.
    private func request(_ code: @escaping @Sendable (Session) async -> Void) -> Task<CurlewError?, Never> {
        let retrier = Retrier { _, session, _ in
            await code(session)
            return .doNotRetry
        }
        let request = session.request("https://e.com/", interceptor: retrier).validate()
        return Task { await request.response().error }
    }

    @Test(
        "retriers of two requests can end the session at once without a deadlock",
        arguments: Wait.allCases, Wait.allCases)
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

    @Test("only waits of user code leave out requests whose code waits")
    func outside() throws {
        var registry = RequestRegistry()
        let request = session.request("https://e.com/")
        let name = try registry.join(request)
        let outside = registry.wait(for: [request], isUserCode: false)
        let inside = registry.wait(for: [request], isUserCode: true)
        #expect(registry.codeBeginsToWait(of: request).map { $0 === inside } == [true])
        #expect(registry.wait(for: [request], isUserCode: true) == nil)
        registry.codeStopsWaiting(of: request)
        #expect(registry.wait(for: [request], isUserCode: true) != nil)
        #expect(registry.leave(request, last: name).contains { $0 === outside })
        #expect(!registry.hasWaiters)
    }

    @Test("code of two sessions can drain each other's session without a deadlock")
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

    /// The second request begins to wait for the refresh either before or after the refresh itself begins to wait.
    @Test("a refresh can end the session while two requests wait for it, without a deadlock", arguments: Wait.allCases)
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

    @Test("an invalidation by a request's code does not deadlock with an earlier one that waits for the request")
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

    @Test("the completion of cancelAllRequests is called after the end of the request whose code called it")
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

    @Test(
        "cancelling the task of withSession cancels its requests, before or during the wait for them",
        arguments: [true, false])
    func scope(_ isEarly: Bool) async throws {
        let (scope, returned) = (Lock<Session?>(nil), Gate())
        let task = Task {
            await withSession(transport: MockTransport { _ in .hanging }) { session in
                session.request("https://e.com/").response { _ in }
                _ = scope.withLock { exchange(&$0, with: session) }
                if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
            }
            returned.open()
        }
        if !isEarly {
            try await eventually { scope.withLock { $0 }?.hasWaiters == true }
            task.cancel()
        }
        try await eventually(within: .seconds(10)) { returned.isOpen }
    }

    @Test("a chain of tasks does not accumulate calls of user code that have returned")
    func chains() async throws {
        let (open, last) = (Lock(0), Gate())
        link(100, open, last)
        try await last.waitForArrivals(count: 1)
        #expect(open.withLock { $0 } < 50)
        last.open()
    }

    /// Each call starts a task with the next call, and returns when that call has begun.
    private func link(_ count: Int, _ open: Lock<Int>, _ last: Gate, _ began: Gate = Gate()) {
        let request = session.request("https://e.com/")
        Task {
            await UserCode.call(for: request) {
                open.withLock { $0 = UserCode.calls.count }
                began.open()
                guard count > 0 else { return (try? await last.wait()) ?? () }
                let next = Gate()
                link(count - 1, open, last, next)
                try? await next.wait()
            }
        }
    }

    @Test("a refresh does not deadlock if a refresh inside it sends a request with the first interceptor")
    func crossedRefreshes() async throws {
        typealias Interceptor = AuthenticationInterceptor<WaitingAuthenticator>
        let (first, returned) = (Lock<Interceptor?>(nil), Gate())
        let expired = WaitingAuthenticator.Token(requiresRefresh: true)
        let inner = WaitingAuthenticator { session in
            let outermost = first.withLock { $0 }
            _ = await session.request("https://e.com/ok", interceptor: outermost).response()
        }
        let second = Interceptor(authenticator: inner, credential: expired)
        let outer = WaitingAuthenticator { session in
            _ = await session.request("https://e.com/ok", interceptor: second).response()
        }
        let made = Interceptor(authenticator: outer, credential: expired)
        _ = first.withLock { exchange(&$0, with: made) }
        Task {
            _ = await session.request("https://e.com/ok", interceptor: made).response()
            returned.open()
        }
        try await eventually(within: .seconds(10)) { returned.isOpen }
        _ = first.withLock { exchange(&$0, with: nil) }
    }

    @Test("two concurrent refreshes that send requests with each other's interceptor do not deadlock")
    func meetingRefreshes() async throws {
        typealias Interceptor = AuthenticationInterceptor<WaitingAuthenticator>
        let (both, returned) = (Gate(), Gate())
        let interceptors = Lock<[Interceptor]>([])
        let made = (0..<2).map { index in
            let authenticator = WaitingAuthenticator { session in
                try? await both.wait()
                let other = interceptors.withLock { $0[1 - index] }
                _ = await session.request("https://e.com/ok", interceptor: other).response()
            }
            return Interceptor(
                authenticator: authenticator, credential: WaitingAuthenticator.Token(requiresRefresh: true))
        }
        _ = interceptors.withLock { exchange(&$0, with: made) }
        let requests = made.map { session.request("https://e.com/ok", interceptor: $0) }
        let tasks = requests.map { request in Task { await request.response().error } }
        try await both.waitForArrivals(count: 2)
        both.open()
        Task {
            for task in tasks { #expect(await task.value == nil) }
            returned.open()
        }
        try await eventually(within: .seconds(10)) { returned.isOpen }
        _ = interceptors.withLock { exchange(&$0, with: []) }
    }

    @Test("a refresh waits for another one unless that one waits for it, directly or through a third")
    func circles() async {
        let refreshes = (Gate(), Gate(), Gate())
        let outer = await waits(refreshes.0, for: refreshes.1) {
            let inner = await waits(refreshes.1, for: refreshes.2) {
                #expect(await waits(refreshes.2, for: refreshes.0) == false)
                #expect(await waits(refreshes.0, for: refreshes.1) == true)
                #expect(await waits(refreshes.1, for: refreshes.0) == false)
            }
            #expect(inner)
            #expect(await waits(refreshes.2, for: refreshes.0) == true)
        }
        #expect(outer)
        #expect(await waits(refreshes.1, for: refreshes.0) == true)
    }

    @Test("the wait of a task that a refresh has started counts until the refresh has ended")
    func waitsOfReturnedCalls() async throws {
        let (first, second, end) = (Gate(), Gate(), Gate())
        let started = await UserCode.call(by: .refresh(of: ObjectIdentifier(first))) {
            let task = Task {
                await UserCode.waiting(forRefreshOf: ObjectIdentifier(second)) { (try? await end.wait()) ?? () }
            }
            try? await end.waitForArrivals(count: 1)
            #expect(await waits(second, for: first) == false)
            return task
        }
        #expect(await waits(second, for: first) == true)
        end.open()
        #expect(await started.value != nil)
    }

    /// Whether a task of one refresh may wait for the other one. `work` runs during the wait.
    private func waits(
        _ refresh: Gate, for other: Gate, _ work: @escaping @Sendable () async -> Void = {}
    ) async -> Bool {
        await Task.detached {
            await UserCode.call(by: .refresh(of: ObjectIdentifier(refresh))) {
                await UserCode.waiting(forRefreshOf: ObjectIdentifier(other)) {
                    await work()
                    return true
                } ?? false
            }
        }.value
    }
}

/// Waits even if the calling task is cancelled, as user code may.
private func withoutCancellation(_ work: @escaping @Sendable () async -> Void) async {
    await Task { await work() }.value
}

extension Session {
    /// Whether a task waits for requests of the session.
    nonisolated var hasWaiters: Bool { registry.withLock { $0.hasWaiters } }
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
