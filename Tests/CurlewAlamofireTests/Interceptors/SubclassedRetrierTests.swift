import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// A retrier that implements the `async` form only.
private struct AsyncRetrier: RequestRetrier {
    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await Task.yield()
        return request.retryCount == 0 ? .retry : .doNotRetry
    }
}

// SAFETY: `asked` is a constant, as in the classes that follow.
private final class Completing: Interceptor, @unchecked Sendable {
    let asked = Recorded<Int>()

    override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        asked.note(request.retryCount)
        super.retry(request, for: session, dueTo: error, completion: completion)
    }
}

// SAFETY: see above.
private final class Waiting: Interceptor, @unchecked Sendable {
    let asked = Recorded<Int>()

    override func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        asked.note(request.retryCount)
        return await super.retry(request, for: session, dueTo: error)
    }
}

/// Implements the form with a completion handler by calling the `async` one.
// SAFETY: see above.
private final class Roundabout: Interceptor, @unchecked Sendable {
    let asked = Recorded<Int>()

    override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        asked.note(request.retryCount)
        Task { completion(await super.retry(request, for: session, dueTo: error)) }
    }
}

// SAFETY: see above.
private final class CompletingRetrier: Retrier, @unchecked Sendable {
    let asked = Recorded<Int>()

    override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        asked.note(request.retryCount)
        super.retry(request, for: session, dueTo: error, completion: completion)
    }
}

// SAFETY: see above.
private final class RoundaboutPolicy: RetryPolicy, @unchecked Sendable {
    let asked = Recorded<Int>()

    override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        asked.note(request.retryCount)
        Task { completion(await super.retry(request, for: session, dueTo: error)) }
    }
}

@Suite("Subclasses of retriers", .timeLimit(.minutes(4)))
struct SubclassedRetrierTests {
    private func retries(with retrier: any RequestInterceptor) async throws -> Int {
        let transport = MockTransport { _ in .status(503) }
        let request = Session(transport: transport, interceptor: retrier).request("https://example.org/")
        await #expect(throws: CurlewError.self) { try await request.data() }
        return request.retryCount
    }

    @Test func requestCallsTheOverriddenRetrierForm() async throws {
        let (completing, waiting) = (Completing(retriers: [AsyncRetrier()]), Waiting(retriers: [AsyncRetrier()]))
        #expect(try await retries(with: completing) == 1)
        #expect(try await retries(with: waiting) == 1)
        #expect(completing.asked.all == [0, 1])
        #expect(waiting.asked.all == [0, 1])
    }

    @Test func retrierOverrideMayCallTheOtherForm() async throws {
        let interceptor = Roundabout(retriers: [AsyncRetrier()])
        #expect(try await retries(with: interceptor) == 1)
        #expect(interceptor.asked.all == [0, 1])
        let policy = RoundaboutPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        #expect(try await retries(with: policy) == 1)
        #expect(policy.asked.all == [0, 1])
    }

    @Test func retrierSubclassMayOverrideCompletionForm() async throws {
        let waits = CompletingRetrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry }
        #expect(try await retries(with: waits) == 1)
        #expect(waits.asked.all == [0, 1])
        let completes = CompletingRetrier { request, _, _, completion in
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        #expect(try await retries(with: completes) == 1)
        #expect(completes.asked.all == [0, 1])
    }

    @Test func retryWithCompletionCallsAllParts() async {
        let session = Session(transport: MockTransport())
        let request = session.request("https://example.org/")
        let error = CurlewError(.receiveFailed, phase: .receive)
        let interceptor = Completing(retriers: [AsyncRetrier()])
        let answer = await withCheckedContinuation { continuation in
            interceptor.retry(request, for: session, dueTo: error) { continuation.resume(returning: "\($0)") }
        }
        #expect(answer == "retry")
    }

    @Test func cancellationReachesRetrierThroughOverride() async throws {
        struct Sleeping: RequestRetrier {
            let started: Gate
            let ended: Recorded<Bool>

            func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
                started.open()
                try? await Gate().wait()
                ended.note(Task.isCancelled)
                return .doNotRetry
            }
        }
        let part = Sleeping(started: Gate(), ended: Recorded())
        let session = Session(
            transport: MockTransport { _ in .status(503) }, interceptor: Completing(retriers: [part]))
        let task = Task { try await session.request("https://example.org/").data() }
        try await part.started.wait()
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(part.ended.all == [true])
    }
}
