import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// libcurl queues PINGs, and writes them when a transfer on the connection is run.
@Suite("HTTP/2 PING", .timeLimit(.minutes(4)))
struct HTTP2PingTests {
    @Test(.enabled(if: ConditionalFeature.http2Ping.isPossible(.ofLibcurl), "libcurl before 8.10"))
    func `a silent connection with a running request gets PINGs`() async throws {
        // The stream stays open, and the server sends nothing else on it.
        let server = try FrameServer { _, stream in [Frame.head(stream)] }
        defer { server.stop() }
        try await withTransport({
            $0.httpVersion = .http2PriorKnowledge
            $0.http2PingInterval = .seconds(1)
        }) { transport, _ in
            let url = server.url
            let task = Task { await transport.failure(request(url)) }
            try await eventually { server.pingCount >= 2 }
            #expect(server.requestCount == 1)
            task.cancel()
            #expect(await task.value.code == .cancelled)
        }
    }

    @Test(.enabled(if: !ConditionalFeature.http2Ping.isPossible(.ofLibcurl), "libcurl sends PINGs"))
    func `an older libcurl cannot`() async throws {
        try await withTransport({ $0.http2PingInterval = .seconds(1) }) { transport, server in
            let error = await transport.failure(request(server.url("/get")))
            #expect(error.code == .unsupported)
            #expect(error.reason.contains("libcurl 8.10"))
        }
    }

    @Test func `PINGs are due only while requests run`() {
        var pings = HTTP2Pings()
        let (start, second) = (LoopInstant.now(), UInt64(1_000_000_000))
        #expect(pings.due == .never)
        pings.requestSent(at: start, every: second)
        pings.requestSent(at: start.advanced(byNanoseconds: 500), every: second)
        #expect(pings.due == start.advanced(byNanoseconds: second))
        let later = start.advanced(byNanoseconds: second)
        pings.sent(at: later, every: second, isNeeded: true)
        #expect(pings.due == later.advanced(byNanoseconds: second))
        pings.sent(at: later, every: second, isNeeded: false)
        #expect(pings.due == .never)
    }
}
