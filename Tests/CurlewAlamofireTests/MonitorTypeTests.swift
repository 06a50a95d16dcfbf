import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

/// A monitor in the form that Alamofire's users wrote is called.
@Suite(.timeLimit(.minutes(4)))
struct MonitorTypeTests {
    private final class Monitor: EventMonitor {
        let queue = DispatchQueue(label: "monitor")
        private let seen = Lock<[String]>([])
        var calls: [String] { queue.sync { seen.withLock { $0 } } }

        private func note(_ call: String) { seen.withLock { $0.append(call) } }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) { note("metrics") }
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { note("data") }
        func request(_ request: Request, didCreateTask task: URLSessionTask) { note("task") }
        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            note("end")
        }
        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
        ) { note("cache") }
    }

    @Test func methodsWithFoundationsNamesAreCalled() async throws {
        let monitor = Monitor()
        let session = Session(
            configuration: SessionConfiguration { $0.cache = ResponseCache() },
            transport: MockTransport { _ in
                var response = MockResponse.text("x")
                response.headers.add(name: "Cache-Control", value: "max-age=60")
                return response
            },
            eventMonitors: [monitor])
        _ = try await session.request("https://example.org/").data()
        await session.invalidate()
        try await eventually { monitor.calls.contains("end") }
        #expect(Set(monitor.calls) == ["task", "metrics", "data", "cache", "end"])
    }
}
