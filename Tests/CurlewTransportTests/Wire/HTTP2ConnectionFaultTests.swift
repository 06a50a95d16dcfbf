import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// Servers violate the protocol on the level of an HTTP/2 connection, which ends all of its streams.
@Suite("Faults of HTTP/2 connections", .timeLimit(.minutes(4)))
struct HTTP2ConnectionFaultTests {
    enum Fault: String, CaseIterable, Sendable {
        case shortPing, dataOnStreamZero, unknownHeaderIndex, windowOverflow, oversizedFrame, badSettings

        func frames(_ stream: UInt32) -> [UInt8] {
            switch self {
            case .shortPing: Frame.bytes(6, [0, 0, 0, 0])
            case .dataOnStreamZero: Frame.data(0, Array("lost".utf8))
            case .unknownHeaderIndex: Frame.bytes(1, flags: 5, stream: stream, [0xFF, 0xFF, 0x7F])
            case .windowOverflow: Frame.bytes(8, [0x7F, 0xFF, 0xFF, 0xFF]) + Frame.bytes(8, [0x7F, 0xFF, 0xFF, 0xFF])
            case .oversizedFrame: Frame.data(stream, [UInt8](repeating: 0x61, count: 20_000))
            case .badSettings: Frame.bytes(4, [0, 4, 0xFF, 0xFF, 0xFF, 0xFF])
            }
        }
    }

    /// Whether libcurl reports a fault of a connection at once (before 8.1, and since 8.14). Otherwise it reports the
    /// fault only when the server closes the connection, and the request ends with a timeout.
    private static let libcurlTellsFaults =
        !Capabilities.ofLibcurl.isAtLeast(8, 1, 0) || Capabilities.ofLibcurl.isAtLeast(8, 14, 0)

    private static func whole(_ stream: UInt32) -> [[UInt8]] {
        [Frame.head(stream), Frame.data(stream, Array("whole".utf8), ends: true)]
    }

    /// Returns a sink that opens the server's gate once a part of the body has arrived.
    private func opening(_ server: FrameServer) -> CollectingSink {
        let sink = CollectingSink()
        sink.observe { if $0 == .body { server.gate.signal() } }
        return sink
    }

    @Test(.enabled(if: libcurlTellsFaults), arguments: Fault.allCases, [nil, 100])
    func `a body that a fault cuts is no complete one`(_ fault: Fault, _ length: Int?) async throws {
        try await withFrames({ _, stream in
            [
                Frame.head(stream, length: length), Frame.data(stream, Array("half".utf8)), Frame.gate,
                fault.frames(stream),
            ]
        }) { transport, server in
            let error = await transport.failure(request(server.url), opening(server))
            #expect([.truncated, .protocolViolation].contains(error.code), "\(error)")
            #expect(error.isSafeToRetry)
            #expect((error.native?.number ?? 0) != 0)
        }
    }

    @Test func `a body before an announced end is complete`() async throws {
        try await withFrames({ _, stream in [Frame.goAway(last: stream)] + Self.whole(stream) }) { transport, server in
            for _ in 0..<3 {
                let answer = try await transport.fetch(request(server.url))
                #expect(answer.text == "whole")
            }
        }
    }

    @Test(.enabled(if: libcurlTellsFaults), arguments: Fault.allCases, [HTTPMethod.get, .post])
    func `a fault before the head fails at once`(_ fault: Fault, _ method: HTTPMethod) async throws {
        try await withFrames({ number, stream in number == 1 ? [fault.frames(stream)] : Self.whole(stream) }) {
            transport, server in
            let error = await transport.failure(request(server.url, method: method))
            #expect([.protocolViolation, .receiveFailed].contains(error.code), "\(error)")
            #expect(error.isSafeToRetry == (method == .get))
            #expect(server.requestCount == 1)
            // A new request to the host succeeds.
            let answer = try await transport.fetch(request(server.url) { $0.options.timeouts.queue = .seconds(5) })
            #expect(answer.text == "whole")
        }
    }

    @Test func `a first request without a response does not hold the next`() async throws {
        try await withFrames({ number, stream in number == 1 ? [] : Self.whole(stream) }) { transport, server in
            let first = await transport.failure(
                request(server.url) { $0.options.timeouts.firstByte = .milliseconds(100) })
            #expect(first.code == .firstByteTimedOut)
            let answer = try await transport.fetch(request(server.url) { $0.options.timeouts.queue = .seconds(5) })
            #expect(answer.text == "whole")
        }
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func `a server that asks for calm is left alone`(_ method: HTTPMethod) async throws {
        try await withFrames({ _, _ in [Frame.goAway(last: 0, Frame.enhanceYourCalm)] }) { transport, server in
            let error = await transport.failure(request(server.url, method: method))
            #expect(error.code == .receiveFailed)
            #expect(error.reason.contains("fewer requests"), "\(error)")
            #expect(error.isSafeToRetry)
            // libcurl from 8.1 on sends the request once more by itself.
            #expect(server.requestCount <= 2)
        }
    }

    /// libcurl before 8.0 loses track of the frame in which its receive buffer is full.
    @Test(arguments: [16_300, 16_370, 16_384, 20_000, 32_700, 100_000], [nil, 4_000_000])
    func `a response in one burst ends when it has come`(_ size: Int, _ rateLimit: Int?) async throws {
        try await withFrames({ _, stream in
            var frames = Frame.head(stream)
            var left = size
            while left > 0 {
                let part = min(left, 16_384)
                left -= part
                frames += Frame.data(stream, [UInt8](repeating: 0x61, count: part), ends: left == 0)
            }
            return [frames]
        }) { transport, server in
            let answer = try await transport.fetch(
                request(server.url) {
                    $0.options.timeouts.idle = .seconds(10)
                    $0.options.downloadRateLimit = rateLimit
                })
            #expect(answer.sink.body.count == size)
        }
    }

    @Test(arguments: [200, 413])
    func `a response that ends before the request's body counts`(_ status: Int) async throws {
        try await withFrames({ _, stream in
            [
                Frame.bytes(1, flags: 4, stream: stream, [0x08, 3] + Array(String(status).utf8)),
                Frame.data(stream, Array("enough".utf8), ends: true), Frame.gate, Frame.reset(stream, Frame.noError),
            ]
        }) { transport, server in
            let body = Data(count: 3_000_000)
            let answer = try await transport.fetch(
                request(server.url, method: .post, body: .data(body)), opening(server))
            #expect(answer.status == status)
            #expect(answer.text == "enough")
        }
    }
}
