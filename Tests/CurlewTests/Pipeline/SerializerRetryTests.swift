import Curlew
import CurlewTesting
import Foundation
import Testing

/// Awaiting methods ask retriers about values that cannot be decoded, as handlers do.
@Suite("Retries after decoding failures", .timeLimit(.minutes(4)))
struct SerializerRetryTests {
    private func session(_ retries: Int, _ answers: MockResponse...) -> (Session, CountingRetrier, MockTransport) {
        let transport = MockTransport(collectsBodies: false)
        for answer in answers { transport.enqueue(answer) }
        let retrier = CountingRetrier(retries: retries)
        return (Session(transport: transport, interceptor: retrier), retrier, transport)
    }

    @Test func undecodableValueIsRetried() async throws {
        let (session, retrier, _) = session(3, .text("[not json"), .text("[1,2]"))
        let request = session.request("https://example.org/")
        #expect(try await request.decode([Int].self) == [1, 2])
        #expect(retrier.calls.all == [.decodingFailed])
        #expect(request.retryCount == 1)
        #expect(request.error == nil)
        #expect(await request.response().data == Data("[1,2]".utf8))
    }

    @Test func retrierIsAskedOncePerUndecodableAttempt() async throws {
        let (session, retrier, transport) = session(1, .text("no"), .text("no"))
        let error = await #expect(throws: CurlewError.self) {
            try await session.request("https://example.org/").decode([Int].self)
        }
        #expect(error?.code == .decodingFailed)
        #expect(retrier.calls.all == [.decodingFailed, .decodingFailed])
        #expect(transport.requests.count == 2)
    }

    @Test func undecodableDownloadIsRetried() async throws {
        let (session, retrier, _) = session(3, .text("[not json"), .text("[3]"))
        let target = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: target) }
        let value = try await session.download(
            "https://example.org/", to: { _, _ in (target, .removePreviousFile) }
        ).decode([Int].self)
        #expect(value == [3])
        #expect(retrier.calls.all == [.decodingFailed])
    }

    @Test func errorOfRetrierReplacesDecodingError() async {
        struct Refusal: Error {}
        let transport = MockTransport { _ in .text("no") }
        let request = Session(transport: transport).request("https://example.org/")
            .retry(using: Retrier { _, _, _ in .doNotRetryWithError(Refusal()) })
        let error = await #expect(throws: CurlewError.self) { try await request.decode([Int].self) }
        #expect(error?.code == .retryFailed)
    }

    @Test func decodableResponsesDoNotAskTheRetrier() async throws {
        let (session, retrier, _) = session(3, .text("[1]"), .text("x"), .text("[2]"))
        _ = try await session.request("https://example.org/").data()
        _ = try await session.request("https://example.org/").string()
        #expect(try await session.request("https://example.org/").decode([Int].self) == [2])
        #expect(retrier.calls.all.isEmpty)
    }

    @Test func secondDecodingDoesNotRetryTheRequest() async throws {
        let (session, retrier, _) = session(3, .text("[1]"))
        let request = session.request("https://example.org/")
        #expect(try await request.decode([Int].self) == [1])
        await #expect(throws: CurlewError.self) { try await request.decode(String.self) }
        #expect(retrier.calls.all.isEmpty)
    }
}
