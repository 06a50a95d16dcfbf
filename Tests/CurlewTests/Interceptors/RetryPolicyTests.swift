import CurlewCore
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite(.timeLimit(.minutes(4)))
struct RetryPolicyTests {
    static let now = Date(timeIntervalSince1970: 784_111_777)

    private func policy(
        base: UInt = 2,
        scale: Double = 0.5,
        jitter: RetryPolicy.Jitter = .none,
        maximumDelay: TimeInterval = 60,
        honorsRetryAfter: Bool = true,
        budget: RetryBudget? = nil,
        random: @escaping @Sendable () -> UInt64 = { .max }
    ) -> RetryPolicy {
        var policy = RetryPolicy(
            retryLimit: 10,
            exponentialBackoffBase: base,
            exponentialBackoffScale: scale,
            jitter: jitter,
            maximumDelay: maximumDelay,
            honorsRetryAfter: honorsRetryAfter,
            budget: budget
        )
        policy.now = { Self.now }
        policy.random = random
        return policy
    }

    @Test func defaultsAreAlamofiresPlusStatus429AndJitter() {
        let policy = RetryPolicy()
        #expect(policy.retryLimit == 2)
        #expect(policy.exponentialBackoffBase == 2)
        #expect(policy.exponentialBackoffScale == 0.5)
        #expect(policy.retryableHTTPMethods == [.delete, .get, .head, .options, .put, .trace])
        #expect(policy.retryableHTTPStatusCodes == [408, 429, 500, 502, 503, 504])
        #expect(policy.jitter == .full)
        #expect((.retryPolicy as RetryPolicy).jitter == .full)
        #expect(policy.budget == nil)
    }

    @Test(arguments: zip(0..<5, [0.5, 1, 2, 4, 8]))
    func delaysGrowExponentially(count: Int, delay: TimeInterval) {
        #expect(RetryDecision.result(retryCount: count, retryAfter: nil, by: policy()).delay == delay)
    }

    @Test func delaysAreBounded() {
        #expect(RetryDecision.result(retryCount: 40, retryAfter: nil, by: policy()).delay == 60)
        #expect(RetryDecision.result(retryCount: 5000, retryAfter: nil, by: policy(maximumDelay: 3)).delay == 3)
    }

    @Test(arguments: [(UInt64.min, 0.0..<0.01), (.max, 1.9..<2.0)])
    func jitterSpreadsOverTheWholeDelay(chance: UInt64, range: Range<Double>) throws {
        let delay = RetryDecision.result(retryCount: 2, retryAfter: nil, by: policy(jitter: .full) { chance }).delay
        #expect(range.contains(try #require(delay)))
    }

    @Test(arguments: [
        ("3", 3.0), (" 3 ", 3), ("0", 0.5), ("100000", 60), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
        ("Sun, 06 Nov 1994 09:49:47 GMT", 60),
        // Values of neither form: the policy's own delay.
        ("soon", 0.5), ("-3", 0.5), ("1.5", 0.5), ("", 0.5),
    ])
    func honoursRetryAfter(value: String, delay: TimeInterval) {
        #expect(RetryDecision.result(retryCount: 0, retryAfter: value, by: policy()).delay == delay)
    }

    @Test func ignoresRetryAfterIfAsked() {
        let policy = policy(honorsRetryAfter: false)
        #expect(RetryDecision.result(retryCount: 0, retryAfter: "3", by: policy).delay == 0.5)
    }

    @Test(arguments: [UInt(0), 1])
    func aBaseBelowTwoIsAnError(base: UInt) {
        let error = RetryDecision.result(retryCount: 0, retryAfter: nil, by: policy(base: base)).error
        #expect((error as? CurlewError)?.code == .unsupported)
    }

    private func isRetryable(
        _ method: HTTPMethod?,
        status: Int? = nil,
        _ error: any Error = CurlewError(.cancelled, phase: .lifecycle)
    ) -> Bool {
        RetryDecision.isRetryable(
            methods: Set([method].compactMap(\.self)), status: status, error: error, by: RetryPolicy())
    }

    @Test(arguments: RetryPolicy.defaultRetryableHTTPMethods)
    func retriesIdempotentMethods(method: HTTPMethod) {
        #expect(isRetryable(method, status: 503))
        #expect(isRetryable(method, CurlewError(.receiveFailed, phase: .receive)))
        #expect(!isRetryable(method, status: 404))
    }

    @Test(arguments: [HTTPMethod.post, .patch, .connect])
    func nonIdempotentRequestIsNotRetried(method: HTTPMethod) {
        #expect(!isRetryable(method, status: 503))
        #expect(!isRetryable(method, CurlewError(.receiveFailed, phase: .receive)))
        let allowing = RetryPolicy(retryableHTTPMethods: [method])
        #expect(
            RetryDecision.isRetryable(methods: [method], status: 503, error: CocoaError(.fileNoSuchFile), by: allowing))
    }

    @Test(arguments: CurlewError.Code.allKnown)
    func onlyTransientErrorCodesAreRetried(code: CurlewError.Code) {
        let error = CurlewError(code, phase: .receive)
        let isExpected = RetryPolicy.defaultRetryableErrorCodes.contains(code)
        #expect(isRetryable(.get, error) == isExpected)
        #expect(isRetryable(.get, CurlewError.adaptationFailed(error)) == isExpected)
    }

    @Test func allMethodsOfAnAttemptMustBeRetryable() {
        let error = CurlewError(.receiveFailed, phase: .receive)
        #expect(!RetryDecision.isRetryable(methods: [.post, .get], status: nil, error: error, by: RetryPolicy()))
        #expect(RetryDecision.isRetryable(methods: [.put, .get], status: nil, error: error, by: RetryPolicy()))
    }

    @Test func doesNotRetryWithoutAMethod() {
        #expect(!isRetryable(nil, status: 503))
    }

    /// The places in which a policy can be one of a request's retriers.
    enum Place: CaseIterable { case session, request, retrier, partOfAnother, everywhere, behindAnother }

    @Test(arguments: Place.allCases) func everyRequestAddsToTheRetryBudgetOnce(place: Place) async throws {
        let instant = ContinuousClock.now
        let budget = RetryBudget(ratio: 0.5, minimumPerSecond: 0, capacity: 100) { instant }
        while budget.withdraw() {}
        let policy = RetryPolicy(retryLimit: 9, exponentialBackoffScale: 0, budget: budget)
        let url = try #require(URL(string: "https://example.com/"))
        let interceptor: (any RequestInterceptor)? =
            switch place {
            case .session, .everywhere: policy
            case .partOfAnother: Interceptor(retriers: [Interceptor(retriers: [policy])])
            case .behindAnother: Forwarding(policy: policy)
            case .request, .retrier: nil
            }
        let isFailing = Watched(false)
        let transport = MockTransport { _ in isFailing.value ? .status(503) : .text("fine") }
        let session = Session(transport: transport, interceptor: interceptor)
        func send() -> DataRequest {
            switch place {
            case .request: session.request(url, interceptor: policy)
            case .retrier: session.request(url).retry(using: policy)
            case .everywhere: session.request(url, interceptor: policy).retry(using: policy)
            case .session, .partOfAnother, .behindAnother: session.request(url)
            }
        }
        for _ in 0..<5 { _ = try await send().data() }
        isFailing.change { $0 = true }
        // The five requests and this one pay for three retries. Retries pay nothing.
        let failed = send()
        await #expect(throws: CurlewError.self) { try await failed.data() }
        #expect(failed.retryCount == 3)
        // The last request pays for half a retry only.
        let last = send()
        await #expect(throws: CurlewError.self) { try await last.data() }
        #expect(last.retryCount == 0)
    }

    /// An interceptor that forwards to a policy and whose type Curlew does not know.
    private struct Forwarding: RequestInterceptor {
        let policy: RetryPolicy

        func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
            try await policy.adapt(urlRequest, using: state)
        }

        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
            await policy.retry(request, for: session, dueTo: error)
        }
    }

    @Test func aBudgetBoundsRetries() async throws {
        let clock = Watched(ContinuousClock.now)
        let budget = RetryBudget(ratio: 0.5, minimumPerSecond: 1, capacity: 4) { clock.value }
        let policy = policy(budget: budget)
        func retries(_ count: Int) -> Int {
            (0..<count).filter { _ in RetryDecision.result(retryCount: 0, retryAfter: nil, by: policy).isRetry }.count
        }
        #expect(retries(100) == 4)
        // Six requests pay for three retries.
        let state = RequestAdapterState(requestID: UUID(), session: Session(transport: MockTransport()))
        for _ in 0..<6 {
            _ = try await policy.adapt(URLRequest(url: URL(string: "https://example.com")!), using: state)
        }
        #expect(retries(100) == 3)
        clock.change { $0 += .seconds(2) }
        #expect(retries(100) == 2)
        clock.change { $0 += .seconds(1000) }
        #expect(retries(100) == 4)
    }
}

extension RetryResult {
    fileprivate var isRetry: Bool {
        switch self {
        case .retry, .retryWithDelay: true
        case .doNotRetry, .doNotRetryWithError: false
        }
    }

    fileprivate var delay: TimeInterval? {
        guard case .retryWithDelay(let delay) = self else { return nil }
        return delay
    }

    fileprivate var error: (any Error)? {
        guard case .doNotRetryWithError(let error) = self else { return nil }
        return error
    }
}
