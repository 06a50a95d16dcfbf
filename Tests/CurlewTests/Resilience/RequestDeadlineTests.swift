import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite("Deadlines", .timeLimit(.minutes(4)))
struct RequestDeadlineTests {
    private static let url = "https://api.test/x"
    private static let name = "X-Request-Deadline-Ms"

    private func session(
        _ transport: MockTransport, _ name: String? = Self.name, interceptor: (any RequestInterceptor)? = nil,
        total: Duration? = nil
    ) -> Session {
        let configuration = SessionConfiguration {
            $0.resilience.deadlineField = name
            $0.timeouts.total = total
        }
        return Session(configuration: configuration, transport: transport, interceptor: interceptor)
    }

    /// The milliseconds in the deadline field of each request.
    private func told(_ transport: MockTransport) -> [Int?] {
        transport.requests.map { $0.headers[Self.name].flatMap { Int($0) } }
    }

    // MARK: The field

    @Test("the deadline field has the rest of the total timeout in each exchange, redirects and retries included")
    func field() async throws {
        let transport = MockTransport { request in
            switch request.index {
            case 0: .redirect(to: "https://other.test/y")
            case 1: .status(503)
            default: .text("fine")
            }
        }
        let session = session(transport, total: .seconds(3_600))
        _ = try await session.request(Self.url).retry(using: RetryPolicy(exponentialBackoffScale: 0)).data()
        let told = told(transport).compactMap(\.self)
        #expect(told.count == 3 && told.allSatisfy { $0 > 3_000_000 && $0 <= 3_600_000 })
        #expect(told == told.sorted(by: >))
        // The field alone needs no admission control.
        #expect(session.context.resilience == nil)
    }

    private struct Untouched: ExchangeAdapter {
        func adapt(_ request: URLRequest, for exchange: ExchangeInfo) async throws -> URLRequest { request }
    }

    @Test("the second copy of a hedged request has less time left, unless the field is the user's or may be signed")
    func hedged() async throws {
        let never = Gate()
        let transport = MockTransport { request in
            if request.index.isMultiple(of: 2) { try await never.wait() }
            return .text("fine")
        }
        let configuration = SessionConfiguration {
            $0.resilience.deadlineField = Self.name
            $0.resilience.hedging = .after(.milliseconds(20))
            $0.resilience.hedging?.maximumShare = 1
            $0.timeouts.total = .seconds(3_600)
        }
        let session = Session(configuration: configuration, transport: transport)
        _ = try await session.request(Self.url).data()
        _ = try await session.request(Self.url, headers: ["x-request-deadline-ms": "7"]).data()
        _ = try await session.request(Self.url).exchangeAdapter(Untouched()).data()
        let told = told(transport).compactMap(\.self)
        try #require(told.count == 6)
        #expect(told[0] <= 3_600_000 && told[1] <= told[0] - 20 && told[1] > 3_000_000)
        #expect(transport.requests[1].headers.values(for: Self.name).count == 1)
        #expect(told[2] == 7 && told[3] == 7)
        #expect(told[4] > 3_000_000 && told[5] == told[4])
    }

    @Test("the deadline field is not sent without a total timeout, and does not replace a user's field")
    func absent() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport)
        _ = try await session.request(Self.url).data()
        _ = try await session.request(Self.url, headers: ["x-request-deadline-ms": "7"])
            .timeouts { $0.total = .seconds(9) }.data()
        _ = try await self.session(transport, nil, total: .seconds(9)).request(Self.url).data()
        #expect(told(transport) == [nil, 7, nil])
        #expect(transport.requests[1].headers.values(for: Self.name).count == 1)
        let configuration = SessionConfiguration {
            $0.resilience.deadlineField = Self.name
            $0.timeouts.total = .seconds(9)
            $0.headers = [Self.name: "8"]
        }
        _ = try await Session(configuration: configuration, transport: transport).request(Self.url).data()
        #expect(told(transport).last == 8)
    }

    @Test("a deadline field with the name grpc-timeout has gRPC's format", arguments: ["grpc-timeout", "Grpc-Timeout"])
    func grpc(name: String) async throws {
        let transport = MockTransport { _ in .text("fine") }
        _ = try await session(transport, name, total: .seconds(3_600)).request(Self.url).data()
        let value = try #require(transport.requests[0].headers[name])
        let milliseconds = try #require(Int(value.dropLast()))
        #expect(value.hasSuffix("m") && milliseconds > 3_000_000 && milliseconds <= 3_600_000)
    }

    private static let values: [(Duration, String, String)] = [
        (.zero, "1", "1m"), (.nanoseconds(1), "1", "1m"), (.milliseconds(1), "1", "1m"),
        (.microseconds(1_999), "1", "1m"), (.milliseconds(1_500), "1500", "1500m"),
        (.milliseconds(99_999_999), "99999999", "99999999m"), (.milliseconds(100_000_999), "100000999", "100000S"),
        (.seconds(99_999_999), "99999999000", "99999999S"), (.seconds(1_000_000_000), "1000000000000", "99999999S"),
        (.seconds(Int64.max), "\(Int64.max / 2_000 * 1_000)", "99999999S"),
    ]

    @Test("the deadline field's value is rounded down, to at least 1", arguments: values)
    func value(time: Duration, plain: String, grpc: String) {
        #expect(RequestDeadline.fieldValue(Self.name, for: time) == plain)
        #expect(RequestDeadline.fieldValue("grpc-timeout", for: time) == grpc)
    }

    @Test(
        "an invalid name of the deadline field fails the request with invalidHeader",
        arguments: ["", "a b", "x\r\ny"])
    func invalidName(name: String) async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport, name, total: .seconds(9))
        #expect(await session.request(Self.url).response().error?.code == .invalidHeader)
        #expect(transport.requests.isEmpty)
    }

    // MARK: The task's deadline

    @Test("a task's deadline ends a request on the wire or while it waits in the queue", arguments: [true, false])
    func ends(waits: Bool) async throws {
        let server = try TestServer()
        let gate = Gate()
        defer { gate.open() }
        server.script("/slow", .text("late").stalling(until: gate, at: .beforeHead))
        let configuration = SessionConfiguration { if waits { $0.resilience.concurrency = .fixed(1) } }
        let session = Session(configuration: configuration)
        let first = session.request(server.url("/slow"))
        async let held = first.response()
        try await server.waitForRequests(count: 1)
        server.script("/slow", .text("late").stalling(until: gate, at: .beforeHead))
        let error = await RequestDeadline.within(.milliseconds(30)) {
            await session.request(server.url("/slow")).response().error
        }
        #expect(error?.code == .totalTimedOut)
        first.cancel()
        #expect(await held.error?.code == .cancelled)
    }

    @Test("a deadline in the past ends a request")
    func passed() async throws {
        let server = try TestServer()
        let error = await RequestDeadline.within(.seconds(-1)) {
            await Session().request(server.url("/delay/60")).response().error
        }
        #expect(error?.code == .totalTimedOut)
    }

    @Test("the earliest of the total timeout and all nested deadlines applies")
    func earliest() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport)
        func send(_ total: Duration? = nil) async throws -> Int {
            _ = try await session.request(Self.url).timeouts { $0.total = total }.data()
            return try #require(told(transport).last ?? nil)
        }
        #expect(try await RequestDeadline.within(.seconds(100)) { try await send() } <= 100_000)
        #expect(try await RequestDeadline.within(.seconds(100)) { try await send(.seconds(9_000)) } <= 100_000)
        #expect(try await RequestDeadline.within(.seconds(9_000)) { try await send(.seconds(100)) } <= 100_000)
        let inner = try await RequestDeadline.within(.seconds(100)) {
            try await RequestDeadline.within(.seconds(9_000)) { try await send() }
        }
        #expect(inner <= 100_000)
        let outer = try await RequestDeadline.within(.seconds(9_000)) {
            _ = try await RequestDeadline.within(.seconds(100)) { try await send() }
            return try await send()
        }
        #expect(outer > 100_000 && outer <= 9_000_000)
        let huge = try await RequestDeadline.within(.seconds(Int64.max)) { try await send() }
        #expect(huge > 9_000_000)
        #expect(RequestDeadline.current == nil)
    }

    @Test("handlers and child tasks inherit the deadline, detached tasks do not")
    func inheritance() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport)
        await RequestDeadline.within(.seconds(100)) {
            await withCheckedContinuation { continuation in
                session.request(Self.url).responseData { _ in continuation.resume() }
            }
            async let child = session.request(Self.url).response()
            _ = await child
            await Task.detached { _ = await session.request(Self.url).response() }.value
        }
        let told = told(transport)
        #expect(told.count == 3 && told[0] ?? .max <= 100_000 && told[1] ?? .max <= 100_000 && told[2] == nil)
    }

    @Test("a request does not get the deadline of a task that only created it or only awaits it")
    func start() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport)
        let made = await RequestDeadline.within(.seconds(100)) { session.request(Self.url) }
        _ = try await made.data()
        let suspended = session.request(Self.url)
        suspended.runUntilSent()
        _ = try await RequestDeadline.within(.seconds(100)) { try await suspended.data() }
        #expect(told(transport) == [nil, nil])
    }

    private final class Refreshing: BearerAuthenticator {
        let deadlines = Lock<[Bool]>([])

        func refresh(_ credential: BearerToken, for session: Session) async throws -> BearerToken {
            deadlines.withLock { $0.append(RequestDeadline.current != nil) }
            return BearerToken(text: "new")
        }
    }

    @Test("adapters run under the deadline, and a refresh of shared credentials does not")
    func refreshes() async throws {
        let authenticator = Refreshing()
        let transport = MockTransport { $0.headers["Authorization"] == "Bearer new" ? .text("fine") : .status(401) }
        let session = session(
            transport,
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: BearerToken(text: "old")))
        let adapted = Lock(false)
        let text = try await RequestDeadline.within(.seconds(100)) {
            let request = session.request(Self.url).adapt(
                using: Adapter { request, _ in
                    adapted.withLock { $0 = RequestDeadline.current != nil }
                    return request
                })
            return try await request.string()
        }
        #expect(text == "fine" && adapted.withLock { $0 })
        #expect(authenticator.deadlines.withLock { $0 } == [false])
    }
}
