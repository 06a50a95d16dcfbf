import CurlewAFNetworking
import CurlewCore
import CurlewLocks
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew
@testable import CurlewTesting

/// User code of a request ends the session's work and waits for its end. The request cannot end before the code
/// returns, so the wait must leave it out.
@Suite("Waiting for a session's requests from code of one of them", .timeLimit(.minutes(2)))
struct WaitingFromOwnCodeTests {
    enum Wait: CaseIterable {
        case cancelling, draining, invalidating

        func callAsFunction(_ session: Session) async {
            switch self {
            case .cancelling: await session.cancelAllRequests()
            case .draining: await session.drain()
            case .invalidating: await session.invalidate()
            }
        }
    }

    /// The user code that waits.
    enum Place: String, CaseIterable {
        case adapter, retrier, redirectHandler, refresh, refreshAfterRefusal, head, challenge, storing
    }

    @Test("a wait by user code returns without waiting for its own request", arguments: Place.allCases, Wait.allCases)
    func returns(_ place: Place, _ wait: Wait) async throws {
        let program = Program(waits: place) { await wait($0) }
        let session = program.session()
        let awaited = Task { await program.request(of: session).response() }
        try await program.hasReturned.opens()
        let ended = await awaited.value
        if wait == .draining { #expect(ended.error?.isCancellation != true) }
        let handled = Program(waits: place) { await wait($0) }
        let other = handled.session()
        handled.request(of: other).response { _ in }
        try await handled.hasReturned.opens()
    }

    @Test("a wait by user code includes other requests")
    func others() async throws {
        let gate = Gate()
        let program = Program(waits: .retrier) { await $0.drain() }
        let session = program.session { if $0.path == "/slow" { try await gate.wait() } }
        let slow = session.request("https://e.com/slow")
        let body = Task { try await slow.data() }
        try await gate.waitForArrivals(count: 1)
        let failing = Task { await program.request(of: session).response() }
        try await program.isWaiting.opens()
        #expect(!program.hasReturned.isOpen)
        gate.open()
        try await program.hasReturned.opens()
        #expect(slow.isFinished)
        _ = (try await body.value, await failing.value)
    }

    /// The adapter of the inner request waits, and the retrier of the outer request awaits the inner one.
    @Test("a wait by user code leaves out a request whose code awaits the waiting request", arguments: Wait.allCases)
    func nested(_ wait: Wait) async throws {
        let inner = Program(waits: .adapter) { await wait($0) }
        let outer = Program(waits: .retrier) { session in _ = await inner.request(of: session).response() }
        let session = outer.session()
        let awaited = Task { await outer.request(of: session).response() }
        try await inner.hasReturned.opens()
        try await outer.hasReturned.opens()
        _ = await awaited.value
    }

    @Test("a wait in a child task of user code leaves the request out")
    func childTask() async throws {
        let program = Program(waits: .retrier) { session in
            async let wait: Void = session.drain()
            await wait
        }
        let session = program.session()
        _ = await program.request(of: session).response()
        #expect(program.hasReturned.isOpen)
    }

    @Test("a wait in an unstructured task that user code started includes the request")
    func leftBehind() async throws {
        let (hasReturned, gate, answer) = (Gate(), Gate(), Gate())
        let program = Program(waits: .adapter) { session in
            Task {
                try await gate.wait()
                await session.drain()
                hasReturned.open()
            }
        }
        let session = program.session { _ in
            gate.open()
            try await answer.wait()
        }
        let awaited = Task { await program.request(of: session).response() }
        try await eventually { session.hasWaiters }
        #expect(!hasReturned.isOpen)
        answer.open()
        try await hasReturned.opens()
        _ = await awaited.value
    }

    // MARK: The end of the wait

    /// Two requests wait for each other: the retrier of the outer one awaits the inner request, whose adapter drains
    /// the session.
    @Test("a total timeout ends a wait that would otherwise never end")
    func totalTimeout() async throws {
        let inner = Program(waits: .adapter) { await $0.drain() }
        let (gate, shared) = (Gate(), Watched<DataRequest?>(nil))
        let outer = Program(waits: .retrier) { _ in
            try? await gate.wait()
            _ = await shared.value?.response()
        }
        let session = outer.session()
        let waiting = inner.request(of: session).timeouts { $0.total = .milliseconds(300) }
        shared.change { $0 = waiting }
        let first = Task { await outer.request(of: session).response() }
        try await outer.isWaiting.opens()
        let second = Task { await waiting.response() }
        try await inner.isWaiting.opens()
        gate.open()
        #expect(await second.value.error?.code == .totalTimedOut)
        _ = await first.value
    }

    @Test("cancelling the waiting task ends its wait", arguments: [Wait.cancelling, .draining])
    func cancelled(_ wait: Wait) async throws {
        let gate = Gate()
        let program = Program(waits: .retrier) { _ in await Task { try? await gate.wait() }.value }
        let session = program.session()
        let awaited = Task { await program.request(of: session).response() }
        try await program.isWaiting.opens()
        let waiting = Task { await wait(session) }
        try await eventually { session.hasWaiters }
        waiting.cancel()
        await waiting.value
        #expect(!session.hasWaiters)
        gate.open()
        _ = await awaited.value
    }

    @Test("a task that is already cancelled still waits, so that it can clean up")
    func cancelledBefore() async throws {
        let gate = Gate()
        let program = Program(waits: .retrier) { _ in await Task { try? await gate.wait() }.value }
        let session = program.session()
        let awaited = Task { await program.request(of: session).response() }
        try await program.isWaiting.opens()
        let waiting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await session.drain()
            return session.hasWaiters
        }
        try await eventually { session.hasWaiters }
        gate.open()
        #expect(await !waiting.value)
        _ = await awaited.value
    }
}

extension Gate {
    fileprivate func opens() async throws { try await eventually(within: .seconds(10)) { isOpen } }
}

/// A program whose request calls user code that waits, at one place.
private final class Program: RequestInterceptor, RedirectHandler, CachedResponseHandler, Authenticator {
    typealias Place = WaitingFromOwnCodeTests.Place

    struct Token: AuthenticationCredential {
        let requiresRefresh: Bool
    }

    let isWaiting = Gate()
    let hasReturned = Gate()
    private let place: Place
    private let code: @Sendable (Session) async -> Void
    private let reference = Watched<WeakReference<Session>?>(nil)

    init(waits place: Place, _ code: @escaping @Sendable (Session) async -> Void) {
        self.place = place
        self.code = code
    }

    func session(_ hold: @escaping @Sendable (MockRequest) async throws -> Void = { _ in }) -> Session {
        var hooks = SessionHooks()
        if place == .challenge {
            hooks.challenge = { _ in
                await self.wait(in: .challenge)
                return .deliver
            }
        }
        let made = hooks
        let configuration = SessionConfiguration {
            $0.hooks = made
            if place == .storing { $0.cache = ResponseCache() }
        }
        let transport = MockTransport { request in
            try await hold(request)
            return Self.respond(request)
        }
        let session = Session(configuration: configuration, transport: transport, cachedResponseHandler: self)
        reference.change { $0 = WeakReference(session) }
        return session
    }

    func request(of session: Session) -> DataRequest {
        // If one program runs inside another, its requests belong to the other's session.
        reference.change { $0 = WeakReference(session) }
        let url = "https://e.com/\(place.rawValue)"
        switch place {
        case .refresh, .refreshAfterRefusal:
            let token = Token(requiresRefresh: place == .refresh)
            return session.request(
                url, interceptor: AuthenticationInterceptor(authenticator: self, credential: token)
            ).validate()
        case .head: return session.request(url).onHTTPResponse { _ in await self.wait(in: .head) }
        case .adapter, .retrier, .redirectHandler, .challenge, .storing:
            return session.request(url, interceptor: self).redirect(using: self)
        }
    }

    private static func respond(_ request: MockRequest) -> MockResponse {
        switch request.path {
        case "/redirectHandler": MockResponse(status: 302, headers: ["Location": "/new"])
        case "/retrier": MockResponse(status: 503)
        case "/refreshAfterRefusal": MockResponse(status: 401)
        case "/challenge": MockResponse(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""])
        default: MockResponse(status: 200, headers: ["Cache-Control": "max-age=60"], body: [.bytes(Data("x".utf8))])
        }
    }

    private func wait(in place: Place) async {
        guard place == self.place, !hasReturned.isOpen, let session = reference.value?.object else { return }
        isWaiting.open()
        await code(session)
        hasReturned.open()
    }

    // MARK: User code that the request calls

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        await wait(in: .adapter)
        return urlRequest
    }

    let retryableHTTPStatusCodes: Set<Int> = [503]

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await wait(in: .retrier)
        return .doNotRetry
    }

    func task(
        _ task: TaskIdentifier, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse
    ) async -> URLRequest? {
        await wait(in: .redirectHandler)
        return request
    }

    func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse? {
        await wait(in: .storing)
        return response
    }

    func apply(_ credential: Token, to urlRequest: inout URLRequest) {}

    func refresh(_ credential: Token, for session: Session) async throws -> Token {
        await wait(in: place)
        return Token(requiresRefresh: false)
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool { true }
}
