import CurlewAlamofire
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

/// Alamofire's lists of a request's URL requests, tasks and metrics, over all attempts.
@Suite(.timeLimit(.minutes(4)))
struct RequestHistoryTests {
    @Test func historySpansAttemptsAndRedirects() async throws {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.redirect(to: "/b"), .status(503), .text("x"))
        let adapter = Adapter { request, _, completion in
            var request = request
            request.setValue("1", forHTTPHeaderField: "X-Adapted")
            completion(.success(request))
        }
        let retrier = Retrier { request, _, _, completion in
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let request = Session(transport: transport)
            .request("https://example.org/a", interceptor: Interceptor(adapter: adapter, retrier: retrier))
            .validate()
        #expect(await request.serializingString().response.value == "x")

        #expect(request.requests.map { $0.url?.path } == ["/a", "/a", "/b", "/a", "/a"])
        #expect(request.performedRequests.map { $0.url?.path } == ["/a", "/b", "/a"])
        #expect(request.performedRequests.allSatisfy { $0.value(forHTTPHeaderField: "X-Adapted") == "1" })
        #expect(request.firstRequest?.value(forHTTPHeaderField: "X-Adapted") == nil)
        #expect(request.lastRequest == request.request && request.lastRequest == request.performedRequests.last)

        #expect(Set(request.tasks).count == 3)
        #expect(request.firstTask == request.tasks.first && request.lastTask == request.tasks.last)

        #expect(request.allMetrics.map(\.attempt) == [0, 0, 1])
        #expect(request.firstMetrics == request.allMetrics.first)
        #expect(request.lastMetrics == request.metrics && request.metrics?.attempt == 1)
    }

    @Test func unstartedRequestHasNoHistory() {
        let request = Session(transport: MockTransport { _ in .text("x") }).request("https://example.org/")
        #expect(request.requests.isEmpty && request.firstRequest == nil && request.lastRequest == nil)
        #expect(request.performedRequests.isEmpty && request.tasks.isEmpty && request.allMetrics.isEmpty)
        #expect(request.firstTask == nil && request.lastTask == nil)
        #expect(request.firstMetrics == nil && request.lastMetrics == nil)
    }
}
