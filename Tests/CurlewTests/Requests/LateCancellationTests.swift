import Curlew
import CurlewAlamofire
import CurlewTesting
import Dispatch
import Foundation
import Testing

/// A request that is cancelled after its response has arrived and before its handlers have received it.
@Suite(.timeLimit(.minutes(4)))
struct LateCancellationTests {
    private let queue = DispatchQueue(label: "handlers")

    private func session() -> Session {
        Session(transport: MockTransport { _ in .text("text") }, startRequestsImmediately: false)
    }

    @Test func aValidationThatCancelsFailsTheRequest() async {
        let request = session().request("https://example.org/")
        request.validate { [unowned request] _, _, _ in
            request.cancel()
            return .success(())
        }
        let error = await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(error?.code == .cancelled && error?.url?.host() == "example.org")
        #expect(request.isCancelled)
        #expect(await request.response().error?.code == .cancelled)
    }

    @Test func aValidationThatCancelsADownloadLeavesNoFile() async throws {
        let scratch = try ScratchDirectory()
        let request = session().download("https://example.org/", to: { _, _ in (scratch.file("file"), []) })
        request.validate { [unowned request] _, _, _ in
            request.cancel()
            return .success(())
        }
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .cancelled)
        #expect(scratch.names.isEmpty)
    }

    /// Alamofire behaves in the same way: when the request is cancelled, the first handler has serialized its value,
    /// and the second has not.
    @Test func serializerThatCancelsFailsLaterHandlers() async {
        let session = session()
        let request = session.request("https://example.org/")
        let codes = Recorded<CurlewError.Code?>()
        let last = await withCheckedContinuation { continuation in
            request
                .response(queue: queue, responseSerializer: Cancelling(request)) { codes.note($0.error?.code) }
                .responseString(queue: queue) { codes.note($0.error?.code) }
                .response(queue: queue) { continuation.resume(returning: $0) }
                .resume()
        }
        #expect(codes.all == [nil, .cancelled])
        #expect(last.error?.code == .cancelled && last.error?.url?.host() == "example.org")
        #expect(last.response?.statusCode == 200)
        #expect(request.isCancelled && request.error?.code == .cancelled)
        await session.invalidate()
    }

    private struct Cancelling: ResponseSerializer {
        private weak let request: Request?

        init(_ request: Request) { self.request = request }

        func serialize(
            request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
        ) throws -> Int {
            self.request?.cancel()
            return data?.count ?? 0
        }
    }
}
