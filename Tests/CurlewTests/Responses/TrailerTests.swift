import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Trailers of requests and responses", .timeLimit(.minutes(4)))
struct TrailerTests {
    private let session = Session()
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/x") { _ in Self.trailed(["X-Sum": "1"]) }
    }

    private static func trailed(_ trailers: HTTPHeaders, _ text: String = "hello") -> TestServer.Response {
        .text(text).changed {
            $0.framing = .chunked
            $0.trailers = trailers
        }
    }

    // MARK: Received

    @Test("a response has its trailers, and the request has them once the body has ended")
    func response() async throws {
        let request = session.request(server.url("/x"))
        #expect(request.trailers == nil)
        let response = await request.response()
        #expect(response.trailers == ["X-Sum": "1"])
        #expect(response.with(Result<Int, CurlewError>.success(1)).trailers == ["X-Sum": "1"])
        #expect(request.trailers == ["X-Sum": "1"])
        #expect(response.head?.headers.contains(name: "X-Sum") == false)
    }

    @Test("responses of handlers, uploads and downloads have trailers")
    func kinds() async throws {
        let handled = await withCheckedContinuation { continuation in
            session.request(server.url("/x")).responseData { continuation.resume(returning: $0.trailers) }
        }
        #expect(handled == ["X-Sum": "1"])
        server.route("/up") { _ in Self.trailed(["X-Sum": "2"]) }
        let upload = session.upload(Data("x".utf8), to: server.url("/up"))
        _ = try await upload.data()
        #expect(upload.trailers == ["X-Sum": "2"])
        let download = session.download(server.url("/x"))
        #expect(await download.response().trailers == ["X-Sum": "1"])
        #expect(download.trailers == ["X-Sum": "1"])
    }

    @Test("a stream has its trailers after the last element")
    func stream() async throws {
        let request = session.streamRequest(server.url("/x"))
        _ = try await request.head()
        var text = ""
        for try await chunk in request.chunks { text += String(decoding: chunk, as: UTF8.self) }
        #expect(text == "hello")
        #expect(request.trailers == ["X-Sum": "1"])
    }

    @Test("trailers are empty if the server sends none, and nil without a complete response")
    func none() async throws {
        let request = session.request(server.url("/get"))
        _ = try await request.data()
        #expect(request.trailers == [:])
        server.script("/cut", .bytes(100).faulting(.close, at: .inBody(after: 10)))
        let cut = await session.request(server.url("/cut")).response()
        #expect(cut.error != nil && cut.head?.status == 200)
        #expect(cut.trailers == nil)
        let refused = session.request("not a url")
        #expect(await refused.response().trailers == nil)
        #expect(refused.trailers == nil)
    }

    @Test("a response that is rejected for its status keeps its trailers")
    func rejected() async throws {
        server.route("/error") { _ in Self.trailed(["X-Sum": "1"]).changed { $0.status = 500 } }
        let request = session.request(server.url("/error"))
        await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(request.trailers == ["X-Sum": "1"])
    }

    @Test("trailers of a followed redirect do not become the response's trailers")
    func redirect() async throws {
        server.route("/moved") { _ in
            Self.trailed(["X-Sum": "redirect"]).changed {
                $0.status = 302
                $0.headers["Location"] = "/get"
            }
        }
        let followed = await session.request(server.url("/moved")).response()
        #expect(followed.head?.status == 200 && followed.trailers == [:])
        let kept = await session.request(server.url("/moved")).redirect(using: Redirector.doNotFollow).response()
        #expect(kept.head?.status == 302 && kept.trailers == ["X-Sum": "redirect"])
    }

    @Test("trailer fields that are needed before the body are dropped, and logged without their values")
    func forbidden() async throws {
        let messages = Recorded<String>()
        let monitor = LogEventMonitor { level, message, fields in
            if level == .debug, message == "trailer field dropped" { messages.note(fields["field"] ?? "") }
            #expect(!fields.values.contains { $0.contains("secret") })
        }
        server.route("/bad") { _ in
            Self.trailed(["Set-Cookie": "a=secret", "X-Sum": "1", "Content-Length": "99", "Location": "/secret"])
        }
        let jar = CookieJar()
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, eventMonitors: [monitor])
        let response = await session.request(server.url("/bad")).response()
        #expect(response.trailers == ["X-Sum": "1"])
        #expect(response.head?.status == 200 && response.data == Data("hello".utf8))
        #expect(jar.header(for: server.url("/bad")) == nil)
        await session.drain()
        await monitor.queue.settled()
        #expect(messages.all == ["Set-Cookie", "Content-Length", "Location"])
    }

    /// The monitor's queue stands still until the request has ended, so every event is late.
    @Test("each attempt's dropped trailer fields are logged once, whenever the monitor hears of them")
    func forbiddenInAttempts() async throws {
        let messages = Recorded<String>()
        let queue = DispatchQueue(label: "late")
        let monitor = LogEventMonitor(queue: queue) { _, message, fields in
            if message == "trailer field dropped" { messages.note(fields["field"] ?? "") }
        }
        server.script(
            "/bad", Self.trailed(["Set-Cookie": "a=1", "X-Sum": "1"]).changed { $0.status = 503 },
            Self.trailed(["X-Sum": "2"]).changed { $0.status = 503 }, Self.trailed(["Location": "/", "Age": "1"]))
        let session = Session(eventMonitors: [monitor])
        queue.suspend()
        let request = session.request(server.url("/bad")).retry(using: RetryPolicy(exponentialBackoffScale: 0))
        let response = await request.response()
        queue.resume()
        #expect(response.head?.status == 200 && request.retryCount == 2)
        await session.drain()
        await monitor.queue.settled()
        #expect(messages.all == ["Set-Cookie", "Location", "Age"])
    }

    private static func overHTTP2(maximumHeaderSize: Int = 256 * 1024) throws -> (TestServer, Session) {
        var configuration = TestServer.Configuration()
        configuration.protocols = [.http2]
        let session = Session(
            configuration: SessionConfiguration {
                $0.httpVersion = .http2PriorKnowledge
                $0.maximumHeaderSize = maximumHeaderSize
            })
        return (try TestServer(configuration), session)
    }

    @Test("a response over HTTP/2 has its trailers")
    func http2() async throws {
        let (server, session) = try Self.overHTTP2()
        server.route("/x") { _ in Self.trailed(["X-Sum": "1"]) }
        let response = await session.request(server.url("/x")).response()
        #expect(response.head?.version == .http2)
        #expect(response.head?.headers.contains(name: "Content-Length") == false)
        #expect(response.trailers?["x-sum"] == "1")
    }

    /// nghttp2 itself resets a stream whose trailers have a `Content-Length`.
    @Test("trailer fields that are needed before the body are dropped over HTTP/2, too")
    func forbiddenOverHTTP2() async throws {
        let (server, session) = try Self.overHTTP2()
        server.route("/bad") { _ in
            Self.trailed(["Set-Cookie": "a=1", "X-Sum": "1", "Location": "/get", "Cache-Control": "max-age=60"])
        }
        let response = await session.request(server.url("/bad")).response()
        #expect(response.head?.version == .http2 && response.head?.status == 200)
        #expect(response.trailers?.count == 1 && response.trailers?["x-sum"] == "1")
        #expect(response.data == Data("hello".utf8))
    }

    @Test("the size of the head and the trailers together is limited over HTTP/2, too", arguments: [8, 40])
    func tooManyOverHTTP2(_ count: Int) async throws {
        let (server, session) = try Self.overHTTP2(maximumHeaderSize: 16 * 1024)
        server.route("/many") { _ in
            var trailers = HTTPHeaders()
            for number in 0..<count {
                trailers.append(name: "X-\(number)", value: String(repeating: "v", count: 1000))
            }
            return Self.trailed(trailers)
        }
        let response = await session.request(server.url("/many")).response()
        #expect(response.head?.status == 200)
        #expect(response.error?.code == (count == 40 ? .limitExceeded : nil), "\(response.error as Any)")
        #expect(response.trailers?.count == (count == 40 ? nil : count))
    }

    /// The server holds the trailers back: until the body has been read if libcurl waits for them, and otherwise until
    /// the response has ended without them.
    @Test("over HTTP/2, libcurl 8.6 and later wait for the trailers of a body with a length")
    func http2WithLength() async throws {
        let isWaiting = Capabilities.current.versionNumber >= 0x08_0600
        let (server, session) = try Self.overHTTP2()
        let trailers = Gate()
        let response = TestServer.Response.text("hello").stalling(until: trailers, at: .inBody(after: 5))
        server.script("/x", response.changed { $0.trailers = ["X-Sum": "1"] })
        let request = session.streamRequest(server.url("/x"))
        var text = ""
        for try await chunk in request.chunks {
            text += String(decoding: chunk, as: UTF8.self)
            if text == "hello", isWaiting { trailers.open() }
        }
        #expect(text == "hello" && request.head?.headers["Content-Length"] == "5")
        #expect(request.trailers?["x-sum"] == (isWaiting ? "1" : nil))
        #expect(request.trailers?.isEmpty == !isWaiting)
        trailers.open()
    }

    @Test("a cache stores no trailers")
    func cached() async throws {
        let transport = MockTransport { _ in
            .text("stored").header("Cache-Control", "max-age=60").changed { $0.trailers = ["X-Sum": "1"] }
        }
        let session = Session(
            configuration: SessionConfiguration { $0.cache = ResponseCache() }, transport: transport)
        let first = await session.request("https://example.org/").response()
        #expect(first.cacheStatus == .miss && first.trailers == ["X-Sum": "1"])
        let second = await session.request("https://example.org/").response()
        #expect(second.cacheStatus == .hit && second.trailers == [:])
    }

    // MARK: Sent

    @Test("an upload and a stream send trailers after a body of unknown length")
    func sent() async throws {
        let count = Lock(0)
        let chunks = AsyncStream<Data> { continuation in
            for index in 0..<5 { continuation.yield(Data("\(index)".utf8)) }
            continuation.finish()
        }
        let upload = session.upload(
            chunks.map { chunk in
                count.withLock { $0 += chunk.count }
                return chunk
            }, to: server.url("/anything"), headers: ["Trailer": "X-Count"])
        _ = try await upload.sendingTrailers { ["X-Count": "\(count.withLock { $0 })"] }.data()
        #expect(server.requests.last?.trailers == ["X-Count": "5"])
        #expect(server.requests.last?.headers["Trailer"] == "X-Count")
        let body = RequestBody.sequence { AsyncStream<Data> { $0.finish() } }
        let stream = session.streamRequest(server.url("/anything"), method: .post, body: body)
        for try await _ in stream.sendingTrailers({ ["X": "last"] }).chunks {}
        #expect(server.requests.last?.trailers == ["X": "last"])
    }

    @Test("a request whose body cannot carry trailers fails before it is sent")
    func impossible() async throws {
        let requests: [Request] = [
            session.request(server.url("/get")).sendingTrailers { ["X": "1"] },
            session.upload(Data("x".utf8), to: server.url("/anything")).sendingTrailers { ["X": "1"] },
            session.streamRequest(server.url("/anything"), method: .post, body: .data(Data())).sendingTrailers { [:] },
        ]
        for request in requests {
            let result = await request.driveOrJoin(request.beginAwaiting(), checksStatus: true)
            #expect(result.error?.code == .invalidBody)
        }
        #expect(server.connectionCount == 0)
    }

    @Test("a redirect keeps the trailers with the body, and drops them with it", arguments: [303, 307])
    func redirected(_ status: Int) async throws {
        let transport = MockTransport { request in
            request.path == "/first" ? .status(status, headers: ["Location": "/second"]) : .text("done")
        }
        let body = RequestBody.sequence { AsyncStream<Data> { $0.finish() } }
        let request = Session(transport: transport).streamRequest(
            "https://example.org/first", method: .post, body: body)
        for try await _ in request.sendingTrailers({ ["X": "1"] }).chunks {}
        #expect(transport.requests.map(\.trailers) == [["X": "1"], status == 303 ? [:] : ["X": "1"]])
    }

    @Test("a forbidden trailer field fails the request without showing its value")
    func refused() async throws {
        let body = RequestBody.sequence { AsyncStream<Data> { $0.finish() } }
        let request = session.streamRequest(server.url("/anything"), method: .post, body: body)
            .sendingTrailers { ["Authorization": "secret"] }
        let error = await #expect(throws: CurlewError.self) { for try await _ in request.chunks {} }
        #expect(error?.code == .invalidHeader && error?.reason.contains("Authorization") == true)
        #expect("\(error as Any)".contains("secret") == false)
    }
}
