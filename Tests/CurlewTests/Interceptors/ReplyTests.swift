import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("Replies of middleware", .timeLimit(.minutes(4)))
struct ReplyTests {
    private static let url = "https://example.com/a"

    @Test func `head and body can be replaced`() async throws {
        let transport = MockTransport { _ in .text("sealed").header("Content-Encoding", "identity") }
        let session = Session(
            over: transport,
            Wrap { request, next in
                var reply = try await next(request)
                reply.head.status = 201
                reply.head.headers.add(name: "X-Opened", value: "yes")
                reply.body = .data(Data(try await reply.data().reversed()))
                return reply
            })
        let response = await session.request(Self.url).response()
        #expect(response.data == Data("delaes".utf8))
        #expect(response.head?.status == 201)
        #expect(response.head?.headers["X-Opened"] == "yes")
        #expect(response.head?.headers["Content-Length"] == "6")
        #expect(response.head?.headers["Content-Encoding"] == nil)
        await session.invalidate()
    }

    @Test func `a mapped body has its own length`() async throws {
        let transport = MockTransport { _ in .text("abc") }
        let session = Session(
            over: transport,
            Wrap { request, next in
                try await next(request).mapBody { $0 + $0 }
            })
        let response = await session.request(Self.url).response()
        #expect(response.data == Data("abcabc".utf8))
        #expect(response.head?.headers["Content-Length"] == "6")
        await session.invalidate()
    }

    @Test func `a reply's stream becomes the body`() async throws {
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                let chunks = AsyncStream<Data> { continuation in
                    for text in ["a", "", "b", "c"] { continuation.yield(Data(text.utf8)) }
                    continuation.finish()
                }
                return Reply(head: ResponseHead(status: 200), body: .stream(chunks))
            })
        #expect(try await session.request(Self.url).string() == "abc")
        await session.invalidate()
    }

    @Test func `metrics and trailers of the network are kept, and can be replaced`() async throws {
        let transport = MockTransport { _ in .text("end").changed { $0.trailers = ["X-Sum": "1"] } }
        let seen = Lock<(Int64?, String?)>((nil, nil))
        let session = Session(
            over: transport,
            Wrap { request, next in
                let reply = try await next(request)
                seen.withLock { $0 = (reply.metrics?.bytesReceived, reply.trailers["X-Sum"]) }
                return reply
            })
        let response = await session.request(Self.url).response()
        #expect(response.metrics?.bytesReceived == 3)
        #expect(seen.withLock { $0.0 } == 3)
        #expect(seen.withLock { $0.1 } == "1")
        await session.invalidate()
    }

    @Test func `the limit of a body in memory concerns what arrives and what is returned`() async throws {
        let transport = MockTransport { _ in .text("0123456789") }
        let session = Session(
            over: transport,
            Wrap { request, next in
                request.url?.query() == "grow"
                    ? try await next(request).mapBody { $0 + $0 } : try await next(request)
            })
        let small = session.request(Self.url).maximumBodySize(9)
        #expect(await failure(of: small)?.code == .limitExceeded)
        let grown = session.request(Self.url + "?grow").maximumBodySize(19)
        #expect(await failure(of: grown)?.code == .limitExceeded)
        let fitting = session.request(Self.url + "?grow").maximumBodySize(20)
        #expect(try await fitting.data().count == 20)
        await session.invalidate()
    }

    @Test func `a body can be collected up to a limit and read again`() async throws {
        let chunks = AsyncStream<Data> { continuation in
            for _ in 0..<4 { continuation.yield(Data("ab".utf8)) }
            continuation.finish()
        }
        let reply = Reply(head: ResponseHead(status: 200), body: .stream(chunks))
        #expect(try await reply.data(upTo: 8) == Data("abababab".utf8))
        #expect(try await reply.data() == Data("abababab".utf8))
        guard case .stream(let stream) = reply.body else { throw UserFailure() }
        var read = Data()
        for try await chunk in stream { read += chunk }
        #expect(read == Data("abababab".utf8))
        let large = await #expect(throws: CurlewError.self) { _ = try await reply.data(upTo: 7) }
        #expect(large?.code == .limitExceeded)
    }

    @Test func `a stream has one reader`() async throws {
        let chunks = AsyncStream<Data> { $0.finish() }
        let stream = Reply.Stream(chunks)
        for try await _ in stream {}
        let error = await #expect(throws: CurlewError.self) { for try await _ in stream {} }
        #expect(error?.code == .bodyUnavailable)
    }

    enum Use: CaseIterable { case delivered, dropped, left, collected }

    /// A sequence that a middleware has made may hold user objects. No lock may be held when they are released.
    @Test("an object that a reply's body holds may use the request while it is released", arguments: Use.allCases)
    func released(_ use: Use) async throws {
        let (asked, running) = (Recorded<RequestState>(), Lock<DataRequest?>(nil))
        @Sendable func holdingReply() -> Reply {
            let asker = Asker {
                guard let request = running.withLock({ $0 }) else { return }
                request.suspend()
                request.resume()
                asked.note(request.state)
            }
            let chunks = AsyncStream<Data> { continuation in
                for text in ["a", "b"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            }
            let holding = chunks.map { chunk in withExtendedLifetime(asker) { chunk } }
            return Reply(head: ResponseHead(status: 200), body: .stream(holding))
        }
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                let reply = holdingReply()
                switch use {
                case .delivered: return reply
                case .dropped: break
                case .left:
                    guard case .stream(let stream) = reply.body else { throw UserFailure() }
                    for try await _ in stream { break }
                case .collected: #expect(try await reply.data() == Data("ab".utf8))
                }
                return Reply(body: Data("ab".utf8))
            })
        let request = session.request(Self.url)
        running.withLock { $0 = request }
        #expect(try await request.string() == "ab")
        // The middleware's task may release the reply when the result is known.
        try await eventually { asked.all.count == 1 }
        _ = running.withLock { exchange(&$0, with: nil) }
        await session.invalidate()
    }
}
