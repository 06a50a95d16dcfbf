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

    @Test(.enabled(if: ConditionalFeature.http2Ping.isPossible(.ofLibcurl), "libcurl before 8.10"))
    func `an idle connection is given up while PINGs are sent on another one`() async throws {
        let busy = try FrameServer { _, stream in [Frame.head(stream)] }
        defer { busy.stop() }
        let idle = try FrameServer { _, stream in [Frame.head(stream, ends: true)] }
        defer { idle.stop() }
        try await withTransport({
            $0.httpVersion = .http2PriorKnowledge
            $0.http2PingInterval = .seconds(1)
        }) { transport, _ in
            #expect(try await transport.fetch(request(idle.url)).status == 200)
            #expect(try await transport.pool(of: idle.url).idle == 1)
            let url = busy.url
            let task = Task { await transport.failure(request(url)) }
            try await transport.expectPool(of: idle.url) { $0.open == 0 }
            // Its PINGs would have been written together, before its next request.
            #expect(idle.pingCount == 0 && busy.pingCount >= 1)
            #expect(try await transport.fetch(request(idle.url)).status == 200)
            #expect(idle.connectionCount == 2 && busy.connectionCount == 1)
            task.cancel()
            #expect(await task.value.code == .cancelled)
        }
    }

    /// The engine finds the connections that need PINGs by their ports.
    @Test func `over a Unix socket no PINGs can be sent`() async throws {
        var capabilities = Capabilities.ofLibcurl
        (capabilities.version, capabilities.versionNumber) = ("8.10.0", 0x080A00)
        var configuration = TransportConfiguration()
        configuration.http2PingInterval = .seconds(30)
        configuration.unixSocketPath = "/nonexistent"
        let transport = CurlTransport(configuration: configuration, capabilities: capabilities)
        let error = await transport.failure(request(try #require(URL(string: "http://127.0.0.1:1/"))))
        #expect(error.code == .unsupported)
        #expect(error.reason.contains("http2PingInterval over a Unix socket"), "\(error)")
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
