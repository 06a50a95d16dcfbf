import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

@Suite("Informational responses", .timeLimit(.minutes(4)))
struct InformationalResponseTests {
    private let session = Session()
    private let server: TestServer

    init() throws { server = try TestServer() }

    private static func hinting(_ statuses: [Int], _ response: TestServer.Response = .text("body"))
        -> TestServer.Response
    {
        response.changed { response in
            response.interim = statuses.enumerated().map { index, status in
                TestServer.Response.Interim(
                    status: status, headers: status == 103 ? ["Link": "</\(index).css>; rel=preload"] : [:])
            }
        }
    }

    @Test("each informational response is delivered once, in order, before the final head")
    func order() async throws {
        server.route("/x") { _ in Self.hinting([103, 102, 103]) }
        let events = Recorded<String>()
        let text = try await session.request(server.url("/x"))
            .onInformationalResponse(on: .global()) { head in
                events.note("\(head.status) \(head.headers["Link"] ?? "-")")
            }
            .onHTTPResponse { _ -> Void in events.note("head") }
            .string()
        events.note(text)
        #expect(
            events.all == ["103 </0.css>; rel=preload", "102 -", "103 </2.css>; rel=preload", "head", "body"])
    }

    @Test("a slow closure for informational responses delays every kind of request", arguments: 0..<4)
    func waits(_ kind: Int) async throws {
        server.route("/x") { _ in Self.hinting([103]) }
        let events = Recorded<String>()
        let queue = DispatchQueue(label: "slow", attributes: .concurrent)
        @Sendable func slow(_ head: ResponseHead) {
            Thread.sleep(forTimeInterval: 0.02)
            events.note("\(head.status)")
        }
        let url = server.url("/x")
        switch kind {
        case 0: _ = try await session.request(url).onInformationalResponse(on: queue, perform: slow).data()
        case 1: _ = try await session.download(url).onInformationalResponse(on: queue, perform: slow).data()
        case 2:
            let stream = session.streamRequest(url).onInformationalResponse(on: queue, perform: slow)
            _ = try await stream.head()
            events.note("head")
            for try await _ in stream.chunks {}
        default:
            let upload = session.upload(Data("x".utf8), to: url).onInformationalResponse(on: queue, perform: slow)
            _ = try await upload.data()
        }
        events.note("end")
        #expect(events.all == (kind == 2 ? ["103", "head", "end"] : ["103", "end"]))
    }

    @Test("many informational responses are delivered one at a time, even on a concurrent queue")
    func many() async throws {
        let statuses = (0..<200).map { $0 % 2 == 0 ? 103 : 102 }
        server.route("/x") { _ in Self.hinting(statuses) }
        let (seen, running) = (Recorded<Int>(), Lock(0))
        _ = try await session.request(server.url("/x")).onInformationalResponse(on: .global()) { head in
            #expect(
                running.withLock {
                    $0 += 1; return $0
                } == 1)
            seen.note(head.status)
            running.withLock { $0 -= 1 }
        }.data()
        #expect(seen.all == statuses)
    }

    @Test("the 100 that an upload waits for is delivered as an informational response")
    func expectation() async throws {
        let seen = Recorded<Int>()
        _ = try await session.upload(Data(count: 1000), to: server.url("/anything"))
            .expectContinue(.always)
            .onInformationalResponse { seen.note($0.status) }
            .data()
        #expect(seen.all == [100])
    }

    @Test("redirects and retries deliver their own informational responses")
    func exchanges() async throws {
        let count = Lock(0)
        server.route("/first") { _ in Self.hinting([103], .redirect(to: "/second")) }
        server.route("/second") { _ in
            let isFirst = count.withLock {
                $0 += 1; return $0 == 1
            }
            return Self.hinting([102], isFirst ? .status(503, headers: ["Retry-After": "0"]) : .text("done"))
        }
        let seen = Recorded<Int>()
        let text = try await session.request(server.url("/first"), interceptor: RetryPolicy(exponentialBackoffScale: 0))
            .onInformationalResponse(on: .global()) { seen.note($0.status) }
            .string()
        #expect(text == "done")
        #expect(seen.all == [103, 102, 103, 102])
    }

    @Test("only informational responses of the reply that middleware returns are delivered", arguments: [false, true])
    func middleware(isStream: Bool) async throws {
        let transport = MockTransport { request in
            var response = MockResponse.text(request.path)
            response.interim = [ResponseHead(status: 103, headers: ["Link": request.path])]
            return response
        }
        let session = Session(
            over: transport,
            Wrap { request, next in
                var other = request
                other.url = URL(string: "https://example.com/unused")
                async let unused = next(other)
                async let used = next(request)
                _ = try await unused
                return try await used
            })
        let events = Recorded<String>()
        let url = "https://example.com/used"
        if isStream {
            let stream = session.streamRequest(url)
                .onInformationalResponse(on: .global()) { events.note($0.headers["Link"] ?? "-") }
            for try await chunk in stream.chunks { events.note(String(decoding: chunk, as: UTF8.self)) }
        } else {
            let request = session.request(url)
                .onInformationalResponse(on: .global()) { events.note($0.headers["Link"] ?? "-") }
            events.note(try await request.string())
        }
        #expect(events.all == ["/used", "/used"])
        await session.invalidate()
    }

    @Test("informational responses are delivered over HTTP/2")
    func http2() async throws {
        var configuration = TestServer.Configuration()
        configuration.protocols = [.http2]
        let server = try TestServer(configuration)
        server.route("/x") { _ in Self.hinting([103, 103]) }
        let seen = Recorded<String>()
        let session = Session(configuration: SessionConfiguration { $0.httpVersion = .http2PriorKnowledge })
        let request = session.request(server.url("/x")).onInformationalResponse(on: .global()) { head in
            seen.note(head.headers["link"] ?? "-")
        }
        #expect(try await request.string() == "body")
        #expect(seen.all == ["</0.css>; rel=preload", "</1.css>; rel=preload"])
    }

    @Test("the 101 of a WebSocket is not delivered as an informational response")
    func webSocket() async throws {
        server.webSocket("/socket", .echo)
        let seen = Recorded<Int>()
        let socket = session.webSocket(server.url("/socket"))
        _ = try await socket.onInformationalResponse(on: .global()) { seen.note($0.status) }.opened()
        try await socket.close()
        #expect(seen.all.isEmpty)
    }

    @Test("only the last closure that was set is called, on the session's completion queue by default")
    func replaced() async throws {
        server.route("/x") { _ in Self.hinting([103]) }
        let (first, second) = (Recorded<Int>(), Recorded<Bool>())
        let queue = DispatchQueue(label: "completions")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let session = Session(configuration: SessionConfiguration { $0.completionQueue = queue })
        _ = try await session.request(server.url("/x"))
            .onInformationalResponse { first.note($0.status) }
            .onInformationalResponse { _ in second.note(DispatchQueue.getSpecific(key: key) == true) }
            .data()
        #expect(first.all.isEmpty)
        #expect(second.all == [true])
    }

    @Test("a cancellation and the total timeout do not wait for a closure that does not return")
    func stuck() async throws {
        server.route("/x") { _ in Self.hinting([103]) }
        for isCancelled in [true, false] {
            let (entered, release) = (Gate(), DispatchSemaphore(value: 0))
            let request = session.request(server.url("/x")).onInformationalResponse(on: .global()) { _ in
                entered.open()
                release.wait()
            }
            if !isCancelled { request.timeouts { $0.total = .milliseconds(200) } }
            let task = Task { try await request.data() }
            try await entered.wait()
            if isCancelled { request.cancel() }
            let error = await #expect(throws: CurlewError.self) { try await task.value }
            #expect(error?.code == (isCancelled ? .cancelled : .totalTimedOut))
            release.signal()
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("without a closure the request stores nothing for informational responses")
    func unheard() async throws {
        server.route("/x") { _ in Self.hinting([103]) }
        let request = session.request(server.url("/x"))
        _ = try await request.data()
        #expect(request.record.withLock { $0.extras == nil })
    }
}
