import CurlewAlamofire
import Foundation
import Testing

@testable import CurlewTesting

private struct Refusal: Error {}

/// The four forms of an adapter, each in a type that has no other. Every form adds its name to a header.
private struct AsyncUsing: RequestAdapter {
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        urlRequest.adapted(mark: "async using")
    }
}

private struct AsyncFor: RequestAdapter {
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        urlRequest.adapted(mark: "async for")
    }
}

private struct CompletionUsing: RequestAdapter {
    func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(urlRequest.adapted(mark: "completion using")))
    }
}

private struct CompletionFor: RequestAdapter {
    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(urlRequest.adapted(mark: "completion for")))
    }
}

private struct Neither: RequestInterceptor {}

/// An interceptor as it is written for Alamofire.
private final class AlamofireStyle: RequestInterceptor {
    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.failure(Refusal()))
        completion(.success(urlRequest))
    }

    func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(.retryWithDelay(7))
        completion(.retry)
    }
}

/// An adapter that answers when the test tells it to.
private final class Slow: RequestAdapter, Sendable {
    let started = Gate()
    let answer = Watched<(@Sendable (Result<URLRequest, any Error>) -> Void)?>(nil)

    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        answer.change { $0 = completion }
        started.open()
    }
}

extension URLRequest {
    fileprivate func adapted(mark: String) -> URLRequest {
        var copy = self
        copy.headers.add(name: "Adapted", value: (headers["Adapted"].map { $0 + ", " } ?? "") + mark)
        return copy
    }
}

@Suite(.timeLimit(.minutes(4)))
struct AdapterBridgeTests {
    let session = Session(transport: MockTransport())
    let request = URLRequest(url: URL(string: "https://example.com/")!)

    private func adapted(by adapter: any RequestAdapter) async throws -> String? {
        try await adapter.adapt(request, using: RequestAdapterState(requestID: UUID(), session: session))
            .headers["Adapted"]
    }

    @Test func eachFormOfAdapterIsCalled() async throws {
        #expect(try await adapted(by: AsyncUsing()) == "async using")
        #expect(try await adapted(by: AsyncFor()) == "async for")
        #expect(try await adapted(by: CompletionUsing()) == "completion using")
        #expect(try await adapted(by: CompletionFor()) == "completion for")
        #expect(try await adapted(by: Neither()) == nil)
    }

    @Test func onlyTheFirstCompletionIsUsed() async throws {
        let state = RequestAdapterState(requestID: UUID(), session: session)
        await #expect(throws: Refusal.self) { try await AlamofireStyle().adapt(request, using: state) }
    }

    @Test func cancellationEndsTheWaitForACompletion() async throws {
        let slow = Slow()
        let task = Task { try await adapted(by: slow) }
        try await slow.started.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // A late answer has no effect.
        slow.answer.value?(.success(request))
    }

    @Test func lateCompletionResumesTheAdapter() async throws {
        let slow = Slow()
        let task = Task { try await adapted(by: slow) }
        try await slow.started.wait()
        slow.answer.value?(.success(request.adapted(mark: "late")))
        slow.answer.value?(.failure(Refusal()))
        #expect(try await task.value == "late")
    }

    @Test func cancelledTaskDoesNotCallTheAdapter() async throws {
        let slow = Slow()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await adapted(by: slow)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(slow.answer.value == nil)
    }

    @Test func closuresAdapt() async throws {
        let completion = Adapter { request, _, completion in completion(.success(request.adapted(mark: "completion"))) }
        let structured = Adapter { request, _ in request.adapted(mark: "async") }
        #expect(try await adapted(by: completion) == "completion")
        #expect(try await adapted(by: structured) == "async")
        let viaStatic: any RequestInterceptor = .adapter { request, _, completion in
            completion(.success(request.adapted(mark: "static")))
        }
        #expect(try await adapted(by: viaStatic) == "static")
    }

    @Test func closureAdapterCallsTheCompletion() async throws {
        let adapter = Adapter { request, _, completion in completion(.success(request.adapted(mark: "at once"))) }
        let seen = Watched<String?>(nil)
        adapter.adapt(request, for: session) { result in seen.change { $0 = try? result.get().headers["Adapted"] } }
        #expect(seen.value == "at once")

        let structured = Adapter { request, _ in request.adapted(mark: "async") }
        let answer = await withCheckedContinuation { continuation in
            structured.adapt(request, for: session) { continuation.resume(returning: $0) }
        }
        #expect(try answer.get().headers["Adapted"] == "async")
    }

    @Test func interceptorsAdaptInOrderUntilAFailure() async throws {
        let third = Watched(0)
        let interceptor = Interceptor(
            adapters: [AsyncUsing(), CompletionFor()],
            interceptors: [Adapter { request, _ in request.adapted(mark: "last") }]
        )
        #expect(try await adapted(by: interceptor) == "async using, completion for, last")

        let failing = Interceptor(
            adapters: [
                CompletionFor(), AlamofireStyle(),
                Adapter { request, _ in
                    third.change { $0 += 1 }
                    return request
                },
            ]
        )
        await #expect(throws: Refusal.self) { try await adapted(by: failing) }
        #expect(third.value == 0)
    }

    @Test func interceptorCallsTheCompletion() throws {
        let seen = Watched<String?>(nil)
        let interceptor = Interceptor(adapters: [CompletionFor(), CompletionFor()])
        interceptor.adapt(request, for: session) { result in seen.change { $0 = try? result.get().headers["Adapted"] } }
        #expect(seen.value == "completion for, completion for")
    }

    @Test func interceptorsOfInterceptorsAdapt() async throws {
        let inner = Interceptor(adapters: [AsyncFor()])
        #expect(try await adapted(by: Interceptor(interceptors: [inner, inner])) == "async for, async for")
    }

    @Test func redirectHandlerMayBeAsyncOrUseCompletion() async throws {
        struct Stopping: RedirectHandler {
            func task(
                _ task: TaskIdentifier,
                willBeRedirectedTo request: URLRequest,
                for response: HTTPURLResponse,
                completion: @escaping @Sendable (URLRequest?) -> Void
            ) {
                completion(nil)
                completion(request)
            }
        }
        struct Default: RedirectHandler {}
        let response = try #require(
            HTTPURLResponse(url: request.url!, statusCode: 302, httpVersion: nil, headerFields: nil)
        )
        func decision(_ handler: any RedirectHandler) async -> String? {
            await handler.task(TaskIdentifier(rawValue: 1), willBeRedirectedTo: request, for: response)
                .map { $0.headers["Adapted"] ?? "as it was" }
        }
        #expect(await decision(Stopping()) == nil)
        #expect(await decision(Default()) == "as it was")
        #expect(await decision(.follow) == "as it was")
        #expect(await decision(.doNotFollow) == nil)
        #expect(await decision(.modify { _, request, _ in request.adapted(mark: "modified") }) == "modified")
        #expect(await decision(Redirector(behavior: .modify { _, _, _ in nil })) == nil)
    }
}
