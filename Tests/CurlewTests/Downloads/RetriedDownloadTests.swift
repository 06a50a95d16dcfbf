import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

/// A download with a status that a retrier wants to replace although no validation rejects it.
@Suite("Downloads that are retried because of their status", .timeLimit(.minutes(1)))
struct RetriedDownloadTests {
    let session = Session()

    @Test("a download retried because of its status replaces the previous file only at the end")
    func replacesOnce() async throws {
        let service = try FileService { $0.statuses = [503, 503] }
        let scratch = try ScratchDirectory()
        let watch = try Watch(scratch.file("a")) { _ in .retry }
        let response = await session.download(
            service.url, interceptor: watch, to: destination(scratch.file("a"), .removePreviousFile)
        ).response()
        #expect(watch.seen == ["old", "old"])
        #expect(response.response?.statusCode == 200)
        #expect(response.fileURL == scratch.file("a"))
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
        #expect(scratch.names == ["a"])
    }

    @Test("a download delivers its response when no retrier wants another attempt")
    func deliversLast() async throws {
        let service = try FileService { $0.statuses = [503, 503, 503] }
        let scratch = try ScratchDirectory()
        let watch = try Watch(scratch.file("a")) { $0.retryCount < 2 ? .retry : .doNotRetry }
        let ends = Ends()
        let request = session.download(
            service.url, interceptor: watch, to: destination(scratch.file("a"), .removePreviousFile)
        ).eventMonitor(ends)
        let response = await request.response()
        await ends.queue.settled()
        #expect(watch.seen == ["old", "old", "old"])
        #expect(response.response?.statusCode == 503)
        #expect(response.error == nil)
        #expect(request.error == nil)
        #expect(response.fileURL == scratch.file("a"))
        #expect(request.fileURL == scratch.file("a"))
        #expect(scratch.file("a").text == "sorry")
        #expect(scratch.names == ["a"])
        // The file is reported before its exchange completes. A repeated attempt completes without a file.
        #expect(ends.names.withLock { $0 } == ["completed", "retried", "completed", "retried", "file", "completed"])
    }

    @Test("a retried download that fails or is cancelled keeps the previous file", arguments: [true, false])
    func fails(cancels: Bool) async throws {
        let service = try FileService { $0.statuses = [503] }
        let scratch = try ScratchDirectory()
        let watch = try Watch(scratch.file("a")) { request in
            guard cancels else { return .doNotRetryWithError(Refusal()) }
            request.cancel()
            return .retry
        }
        let response = await session.download(
            service.url, interceptor: watch, to: destination(scratch.file("a"), .removePreviousFile)
        ).response()
        #expect(response.error?.code == (cancels ? .cancelled : .retryFailed))
        #expect(response.fileURL == nil)
        #expect(scratch.file("a").text == "old")
        #expect(scratch.names == ["a"])
    }

    @Test("a retried download reports an occupied destination when its retrier gives up")
    func destinationIsTaken() async throws {
        let service = try FileService { $0.statuses = [503] }
        let scratch = try ScratchDirectory()
        let watch = try Watch(scratch.file("a")) { _ in .doNotRetry }
        let response = await session.download(
            service.url, interceptor: watch, to: destination(scratch.file("a"))
        ).response()
        #expect(response.error?.code == .destinationExists)
        #expect(scratch.file("a").text == "old")
        #expect(scratch.names == ["a"])
    }

    @Test("a resumed download that is retried after an error page requests only the rest")
    func keepsPart() async throws {
        let service = try FileService { $0.cuts = [700_000] }
        let scratch = try ScratchDirectory()
        let first = session.download(service.url, to: destination(scratch.file("b")))
        await #expect(throws: CurlewError.self) { try await first.file() }
        let data = try #require(first.resumeData)
        let part = try ResumeData(data)
        service.change { $0.statuses = [503] }
        let watch = try Watch(scratch.file("a")) { _ in .retry }
        let response = await session.download(
            resumingWith: data, interceptor: watch, to: destination(scratch.file("a"), .removePreviousFile)
        ).response()
        #expect(watch.seen == ["old"])
        #expect(response.error == nil)
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
        let rest = "bytes=\(part.bytesWritten)-"
        #expect(service.ranges == [nil, rest, rest])
        #expect(scratch.names == ["a"])
    }

    private struct Refusal: Error {}

    /// Retries a 503 as the closure decides, and records the destination's contents each time.
    private final class Watch: RequestInterceptor {
        let retryableHTTPStatusCodes: Set<Int> = [503]
        private let place: URL
        private let answer: @Sendable (Request) -> RetryResult
        private let looks = Lock<[String?]>([])

        init(_ place: URL, answer: @escaping @Sendable (Request) -> RetryResult) throws {
            self.place = place
            self.answer = answer
            try Data("old".utf8).write(to: place)
        }

        var seen: [String?] { looks.withLock { $0 } }

        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
            guard error.responseCode == 503 else { return .doNotRetry }
            let text = place.text
            looks.withLock { $0.append(text) }
            return answer(request)
        }
    }

    private final class Ends: EventMonitor {
        let queue = DispatchQueue(label: "ends")
        let names = Lock<[String]>([])

        func request(
            _ request: DownloadRequest, didFinishDownloading result: Result<URL, CurlewError>, of task: TaskIdentifier
        ) { names.withLock { $0.append("file") } }
        func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
            names.withLock { $0.append(error == nil ? "completed" : "failed") }
        }
        func requestIsRetrying(_ request: Request) { names.withLock { $0.append("retried") } }
    }
}
