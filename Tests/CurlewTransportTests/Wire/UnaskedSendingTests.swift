import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// libcurl before 7.80 does not call back before it sends a request. Only its trace reports afterwards that it has.
@Suite("Sending without a prerequest callback", .timeLimit(.minutes(4)))
struct UnaskedSendingTests {
    private func withOldTransport(_ body: (CurlTransport, TestServer) async throws -> Void) async throws {
        var capabilities = Capabilities.ofLibcurl
        capabilities.versionNumber = 0x07_4C00
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        let server = try TestServer()
        let transport = CurlTransport(configuration: configuration, capabilities: capabilities)
        try await body(transport, server)
        expectNothingLeft(transport)
        await transport.shutdown()
        server.stop()
    }

    @Test func everyChunkMayBePaused() async throws {
        try await withOldTransport { transport, server in
            let sink = CollectingSink()
            sink.state.withLock { $0.bodyAnswers = Array(repeating: [.pause, .proceed], count: 20).flatMap(\.self) }
            sink.observe { if $0 == .body { sink.control?.resumeReceiving() } }
            let answer = try await transport.fetch(request(server.url("/bytes/1000000")), sink)
            #expect(sink.body == TestServer.patternBytes(count: 1_000_000))
            #expect(answer.outcome.metrics.requestSent != nil)
        }
    }

    @Test func uploadContinuesAfterWaitingForItsSource() async throws {
        try await withOldTransport { transport, server in
            let body = ScriptedBody([.bytes("one "), .pending, .bytes("two")])
            body.onPending { $0.wake() }
            let sending = request(server.url("/post"), method: .post, body: .stream(body, length: nil))
            let answer = try await transport.fetch(sending)
            #expect(answer.status == 200)
            #expect(server.requests.last?.body == Data("one two".utf8))
        }
    }

    @Test func lateResponseIsNoConnectTimeout() async throws {
        try await withOldTransport { transport, server in
            let limit = Duration.milliseconds(200).asTestBound
            server.script("/late", .text("late").delayed(by: limit * 2))
            let late = request(server.url("/late")) { $0.options.timeouts.connect = limit }
            let answer = try await transport.fetch(late)
            #expect(answer.text == "late")
        }
    }

    /// The server may have carried the request out.
    @Test func sentPOSTIsNotSafeToRetry() async throws {
        try await withOldTransport { transport, server in
            server.script("/cut", .text("").faulting(.close, at: .beforeHead))
            let error = await transport.failure(request(server.url("/cut"), method: .post))
            #expect(error.code == .receiveFailed)
            #expect(!error.isSafeToRetry)
            #expect(error.phase == .waiting)
        }
    }
}
