import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

/// Adds its name to a header of the request, in one of the forms that an adapter may have.
private struct Marker: RequestAdapter {
    let name: String
    var fails = false

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if fails { throw Refusal(name: name) }
        return urlRequest.with(name)
    }
}

private struct CompletionMarker: RequestAdapter {
    let name: String

    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(urlRequest.with(name)))
    }
}

private struct Refusal: Error, Equatable {
    var name = ""
}

private struct Answerer: RequestRetrier {
    let answer: RetryResult
    let asked: Lock<[String]>
    let name: String

    func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        asked.withLock { $0.append(name) }
        completion(answer)
    }
}

extension URLRequest {
    fileprivate func with(_ name: String) -> URLRequest {
        var changed = self
        changed.setValue(
            [value(forHTTPHeaderField: "Marks"), name].compactMap { $0 }.joined(separator: " "),
            forHTTPHeaderField: "Marks")
        return changed
    }

    fileprivate var marks: String? { value(forHTTPHeaderField: "Marks") }
}

@Suite("Interceptors with several parts", .timeLimit(.minutes(4)))
struct InterceptorTests {
    private let session = Session(transport: MockTransport())
    private let plain = URLRequest(url: URL(filePath: "/"))

    private var three: Interceptor {
        Interceptor(adapters: [Marker(name: "first"), CompletionMarker(name: "second"), Marker(name: "third")])
    }

    @Test func adaptersOfEveryFormRunInOrder() async throws {
        #expect(try await three.adapt(plain, for: session).marks == "first second third")
        let state = RequestAdapterState(requestID: UUID(), session: session)
        #expect(try await three.adapt(plain, using: state).marks == "first second third")
    }

    @Test func adaptsInOrderForCallersWithACompletion() async throws {
        let state = RequestAdapterState(requestID: UUID(), session: session)
        let using = try await withCheckedThrowingContinuation { continuation in
            three.adapt(plain, using: state) { continuation.resume(with: $0) }
        }
        #expect(using.marks == "first second third")
        let completions = Interceptor(adapters: [CompletionMarker(name: "first"), CompletionMarker(name: "second")])
        let made = try await withCheckedThrowingContinuation { continuation in
            completions.adapt(plain, for: session) { continuation.resume(with: $0) }
        }
        #expect(made.marks == "first second")
    }

    @Test func firstFailingAdapterStopsAdaptation() async throws {
        let interceptor = Interceptor(
            adapters: [Marker(name: "first"), Marker(name: "second", fails: true), Marker(name: "third", fails: true)])
        await #expect(throws: Refusal(name: "second")) { try await interceptor.adapt(plain, for: session) }
        let state = RequestAdapterState(requestID: UUID(), session: session)
        let result: Result<URLRequest, any Error> = await withCheckedContinuation { continuation in
            interceptor.adapt(plain, using: state) { continuation.resume(returning: $0) }
        }
        #expect(throws: Refusal(name: "second")) { try result.get() }
    }

    @Test func closureInterceptorAdaptsAndRetries() async throws {
        let interceptor = Interceptor(
            adaptHandler: { request, _, completion in completion(.success(request.with("closure"))) },
            retryHandler: { _, _, _, completion in completion(.retryWithDelay(3)) }
        )
        #expect(try await interceptor.adapt(plain, for: session).marks == "closure")
        #expect(await answer(of: interceptor, false) == "retryWithDelay(3.0)")
    }

    @Test(arguments: [true, false])
    func firstRetrierThatDecidesIsUsed(completes: Bool) async {
        let asked = Lock<[String]>([])
        let interceptor = Interceptor(retriers: [
            Answerer(answer: .doNotRetry, asked: asked, name: "first"),
            Answerer(answer: .retry, asked: asked, name: "second"),
            Answerer(answer: .doNotRetry, asked: asked, name: "third"),
        ])
        #expect(await answer(of: interceptor, completes) == "retry")
        #expect(asked.withLock { $0 } == ["first", "second"])
    }

    @Test(arguments: [true, false])
    func requestIsNotRetriedIfNoRetrierAsksForIt(completes: Bool) async {
        let asked = Lock<[String]>([])
        let interceptor = Interceptor(retriers: [
            Answerer(answer: .doNotRetry, asked: asked, name: "first"),
            Answerer(answer: .doNotRetry, asked: asked, name: "second"),
        ])
        #expect(await answer(of: interceptor, completes) == "doNotRetry")
        #expect(asked.withLock { $0 } == ["first", "second"])
        #expect(await answer(of: Interceptor(), completes) == "doNotRetry")
    }

    private func answer(of interceptor: Interceptor, _ completes: Bool) async -> String {
        let request = session.request("http://a/")
        guard completes else { return "\(await interceptor.retry(request, for: session, dueTo: Refusal()))" }
        return await withCheckedContinuation { continuation in
            interceptor.retry(request, for: session, dueTo: Refusal()) { continuation.resume(returning: "\($0)") }
        }
    }
}
