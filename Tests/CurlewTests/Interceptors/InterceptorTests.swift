import Curlew
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

private struct Refusal: Error, Equatable {
    let name: String
}

/// Appends its name to the request's `Marks` field, or fails.
private struct Marker: RequestAdapter {
    let name: String
    var fails = false

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if fails { throw Refusal(name: name) }
        var changed = urlRequest
        changed.headers.add(
            name: "Marks", value: [urlRequest.headers["Marks"], name].compactMap(\.self).joined(separator: " "))
        return changed
    }
}

private struct Answerer: RequestRetrier {
    let answer: RetryResult
    let asked: Lock<[String]>
    let name: String

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        asked.withLock { $0.append(name) }
        return answer
    }
}

private struct Silent: RequestInterceptor {}

@Suite("Interceptors composed of several", .timeLimit(.minutes(4)))
struct InterceptorTests {
    private let session = Session(transport: MockTransport())
    private let plain = URLRequest(url: URL(filePath: "/"))

    private func marks(of interceptor: any RequestInterceptor) async throws -> String? {
        let state = RequestAdapterState(requestID: UUID(), session: session)
        return try await interceptor.adapt(plain, using: state).headers["Marks"]
    }

    private func answer(of interceptor: any RequestInterceptor) async -> String {
        let error = CurlewError(.receiveFailed, phase: .receive)
        return "\(await interceptor.retry(session.request("http://a/"), for: session, dueTo: error))"
    }

    @Test func adaptsInOrder() async throws {
        let inner = Interceptor(adapters: [Marker(name: "second")])
        let outer = Interceptor(adapters: [Marker(name: "first")], interceptors: [inner, inner])
        #expect(try await marks(of: outer) == "first second second")
    }

    @Test func firstFailingAdapterStopsAdaptation() async throws {
        let interceptor = Interceptor(
            adapters: [Marker(name: "first"), Marker(name: "second", fails: true), Marker(name: "third", fails: true)])
        await #expect(throws: Refusal(name: "second")) { try await marks(of: interceptor) }
    }

    @Test func firstRetrierThatDecidesIsUsed() async {
        let asked = Lock<[String]>([])
        let interceptor = Interceptor(retriers: [
            Answerer(answer: .doNotRetry, asked: asked, name: "first"),
            Answerer(answer: .retry, asked: asked, name: "second"),
            Answerer(answer: .doNotRetry, asked: asked, name: "third"),
        ])
        #expect(await answer(of: interceptor) == "retry")
        #expect(asked.withLock { $0 } == ["first", "second"])
        #expect(await answer(of: Interceptor()) == "doNotRetry")
    }

    @Test func anInterceptorWithoutMethodsChangesNothing() async throws {
        #expect(try await marks(of: Silent()) == nil)
        #expect(await answer(of: Silent()) == "doNotRetry")
    }

    @Test func closuresAdaptAndRetry() async throws {
        let adapter = Adapter { request, _ in
            var changed = request
            changed.headers.add(name: "Marks", value: "closure")
            return changed
        }
        let retrier = Retrier { _, _, error in error.code == .receiveFailed ? .retryWithDelay(3) : .doNotRetry }
        let interceptor = Interceptor(adapter: adapter, retrier: retrier)
        #expect(try await marks(of: interceptor) == "closure")
        #expect(await answer(of: interceptor) == "retryWithDelay(3.0)")
    }
}
