import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// Streams of HTTP/2 that end with RST_STREAM or GOAWAY instead of END_STREAM.
@Suite("Endings of HTTP/2 streams", .timeLimit(.minutes(4)))
struct HTTP2EndingTests {
    private static func whole(_ stream: UInt32) -> [[UInt8]] {
        [Frame.head(stream), Frame.data(stream, Array("again".utf8), ends: true)]
    }

    /// Returns a sink that opens the server's gate once a part of the body has arrived.
    private func opening(_ server: FrameServer) -> CollectingSink {
        let sink = CollectingSink()
        sink.observe { if $0 == .body { server.gate.signal() } }
        return sink
    }

    @Test func completeHTTP2StreamIsDelivered() async throws {
        try await withFrames({ _, stream in Self.whole(stream) }) { transport, server in
            let got = try await transport.fetch(request(server.url))
            #expect(got.text == "again")
            let post = request(server.url, method: .post, body: .data(Data("pay".utf8)))
            let got2 = try await transport.fetch(post)
            #expect(got2.text == "again")
        }
    }

    @Test(arguments: [10, nil])
    func http2ResetWithinBodyIsTruncation(_ length: Int?) async throws {
        // Without a length, only libcurl 8.0 to 8.2 can tell such a reset from an end.
        let tells = Capabilities.ofLibcurl.isAtLeast(8, 0, 0) && !Capabilities.ofLibcurl.isAtLeast(8, 3, 0)
        guard length != nil || tells else { return }
        try await withFrames({ _, stream in
            [Frame.head(stream, length: length), Frame.data(stream, Array("half".utf8))]
                + [Frame.gate, Frame.reset(stream, Frame.noError)]
        }) { transport, server in
            let error = await transport.failure(request(server.url), opening(server))
            #expect(error.code == .truncated, "\(error)")
        }
    }

    @Test func http2ResetWithinCodedBodyIsTruncation() async throws {
        let coded = [UInt8](CodedBodies.gzip)
        try await withFrames({ _, stream in
            [
                Frame.head(stream, coding: "gzip"), Frame.data(stream, Array(coded.prefix(coded.count / 2))),
                Frame.gate, Frame.reset(stream, Frame.noError),
            ]
        }) { transport, server in
            let error = await transport.failure(request(server.url), opening(server))
            #expect(error.code == .truncated, "\(error)")
        }
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func aRefusedStreamIsSentAgain(_ method: HTTPMethod) async throws {
        try await withFrames({ number, stream in
            number == 1 ? [Frame.reset(stream, Frame.refusedStream)] : Self.whole(stream)
        }) { transport, server in
            let body: BodySource = method == .post ? .data(Data("pay".utf8)) : .none
            let got3 = try await transport.fetch(request(server.url, method: method, body: body))
            #expect(got3.text == "again")
            #expect(server.requestCount == 2)
        }
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func aStreamAboveAGoAwayIsSentAgain(_ method: HTTPMethod) async throws {
        try await withFrames({ number, stream in
            number == 1 ? [Frame.goAway(last: stream - 1)] : Self.whole(stream)
        }) { transport, server in
            let body: BodySource = method == .post ? .data(Data("pay".utf8)) : .none
            let got4 = try await transport.fetch(request(server.url, method: method, body: body))
            #expect(got4.text == "again")
            #expect(server.requestCount == 2)
        }
    }

    @Test func requestThatIsNeverProcessedIsSafeToRetry() async throws {
        try await withFrames({ _, stream in [Frame.goAway(last: stream - 1)] }) { transport, server in
            let error = await transport.failure(
                request(server.url, method: .post, body: .data(Data("pay".utf8))))
            #expect(error.isSafeToRetry, "\(error)")
            #expect(server.requestCount < 10)
        }
    }

    @Test func aPOSTThatMayHaveBeenProcessedIsNotSentAgain() async throws {
        let cases: [@Sendable (UInt32) -> [[UInt8]]] = [
            { [Frame.goAway(last: $0), Frame.reset($0, Frame.internalError)] },
            { [Frame.reset($0, Frame.internalError)] },
        ]
        for frames in cases {
            try await withFrames({ number, stream in number == 1 ? frames(stream) : Self.whole(stream) }) {
                transport, server in
                let error = await transport.failure(
                    request(server.url, method: .post, body: .data(Data("pay".utf8))))
                #expect(!error.isSafeToRetry, "\(error)")
                #expect(server.requestCount == 1)
            }
        }
    }
}
