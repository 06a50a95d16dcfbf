import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Requests that read the response while they send their body.
@Suite("Request bodies with a streamed response", .timeLimit(.minutes(4)))
struct StreamedBodyTests {
    let session = Session()
    /// A response with the chunks of the request body.
    let echo = TestServer.Response(headers: ["Content-Type": "application/x-ndjson"], body: .echo)

    struct Broken: Error {}

    /// A kind of body, so that each can be an argument of a test.
    enum Kind: CaseIterable {
        case data, file, sized, unsized, form

        func body(_ bytes: Data, in scratch: ScratchDirectory) throws -> RequestBody {
            let chunks = AsyncStream<Data> { continuation in
                for half in [bytes.prefix(bytes.count / 2), bytes.dropFirst(bytes.count / 2)] {
                    continuation.yield(half)
                }
                continuation.finish()
            }
            switch self {
            case .data: return .data(bytes)
            case .sized: return .sequence(chunks, length: Int64(bytes.count))
            case .unsized: return .sequence(chunks)
            case .file, .form:
                let file = scratch.file("body.bin")
                try bytes.write(to: file)
                if self == .file { return .file(file) }
                let form = MultipartFormData()
                form.append(file, withName: "part")
                return .multipart(form)
            }
        }
    }

    @Test("every kind of body is sent whole, with its exact length if that is known", arguments: Kind.allCases)
    func kinds(_ kind: Kind) async throws {
        let server = try TestServer()
        server.script("/echo", echo)
        let bytes = TestServer.patternBytes(from: 0, count: 3_000_001)
        let scratch = try ScratchDirectory()
        let body = try kind.body(bytes, in: scratch)
        let request = session.streamRequest(
            server.url("/echo"), method: .put, body: body, headers: ["X-Own": "1"])
        var answer = Data()
        for try await chunk in request.chunks { answer += chunk }
        let received = try #require(server.requests.last)
        #expect(received.method == "PUT")
        #expect(received.headers["X-Own"] == "1")
        #expect(answer == received.body)
        #expect(received.headers["Content-Length"] == (kind == .unsized ? nil : "\(received.bodyByteCount)"))
        #expect(request.uploadProgress.completedUnitCount == received.bodyByteCount)
        if kind == .form {
            #expect(received.multipartParts.map(\.body) == [bytes])
        } else {
            #expect(received.body == bytes)
            #expect(received.headers["Content-Type"] == nil)
        }
        withExtendedLifetime(scratch) {}
    }

    /// libcurl 7.88 holds back the rest of a short write while a body of known length has no more bytes to send. A
    /// server that waits for that rest then waits forever.
    private static let fullDuplexLengths: [Int64?] = FaultMode.name == "short-writes" ? [nil] : [nil, 12]

    @Test("a response is read while its request's body is still being sent", arguments: fullDuplexLengths)
    func fullDuplex(_ length: Int64?) async throws {
        let server = try TestServer()
        server.script("/echo", echo)
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("{}\n".utf8))
        let request = session.streamRequest(server.url("/echo"), body: .sequence(chunks, length: length))
        #expect(try await request.head().status == 200)
        var lines: [String] = []
        // Each line of the body is written after the previous one has been received.
        for try await line in request.lines {
            lines.append(line)
            if lines.count < 4 { source.yield(Data("{}\n".utf8)) } else { source.finish() }
        }
        #expect(lines == ["{}", "{}", "{}", "{}"])
        #expect(server.requests.last?.isBodyComplete == true)
    }

    @Test("values and events are read from the response to a body")
    func framings() async throws {
        struct Item: Decodable { let id: Int }
        let server = try TestServer()
        server.script("/echo", echo, echo)
        var numbers: [Int] = []
        let values = session.streamRequest(server.url("/echo"), body: .data(Data("{\"id\":1}\n{\"id\":2}\n".utf8)))
        for try await item in values.decode(Item.self) { numbers.append(item.id) }
        #expect(numbers == [1, 2])
        var events: [String] = []
        let sent = session.streamRequest(server.url("/echo"), body: .data(Data("data: a\n\ndata: b\n\n".utf8)))
        for try await event in sent.events { events.append(event.data) }
        #expect(events == ["a", "b"])
        #expect(server.requests.last?.headers["Accept"] == "text/event-stream")
    }

    @Test("a reader that pauses stops the server and the sending of the body")
    func backPressure() async throws {
        var configuration = TestServer.Configuration()
        (configuration.sendBufferSize, configuration.receiveBufferSize) = (64 << 10, 64 << 10)
        let server = try TestServer(configuration)
        server.script("/echo", echo)
        // More than the buffers hold, and little enough to be sent in time in each fault mode.
        let size: Int64 = ["tiny-buffers": 4 << 20, "short-writes": 32 << 20][FaultMode.name ?? ""] ?? 64 << 20
        let scratch = try ScratchDirectory()
        let file = scratch.file("large")
        try #require(FileManager.default.createFile(atPath: file.plainPath, contents: nil))
        try FileHandle(forWritingTo: file).truncate(atOffset: UInt64(size))
        let request = session.streamRequest(server.url("/echo"), body: .file(file))
        var chunks = request.chunks.makeAsyncIterator()
        var read = Int64(try await chunks.next()?.count ?? 0)
        let sent = try await server.bytesSentWhenStopped()
        #expect(sent < 24 << 20)
        #expect(request.uploadProgress.completedUnitCount < size)
        while let chunk = try await chunks.next() { read += Int64(chunk.count) }
        #expect(read == size)
        #expect(server.requests.last?.bodyByteCount == size)
    }

    @Test("a body sequence that throws ends the request with an error", arguments: [0, 1])
    func throwingSequence(_ count: Int) async throws {
        let server = try TestServer()
        server.script("/echo", echo)
        let chunks = AsyncThrowingStream<Data, any Error> { continuation in
            for _ in 0..<count { continuation.yield(Data("part".utf8)) }
            continuation.finish(throwing: Broken())
        }
        let request = session.streamRequest(server.url("/echo"), body: .sequence(chunks))
        let error = await #expect(throws: CurlewError.self) { for try await _ in request.chunks {} }
        #expect(error?.code == .bodyUnavailable)
        #expect(error?.underlying is Broken)
        #expect(server.requests.isEmpty)
    }

    @Test("a sequence below its length, a missing file and a form's missing file are errors")
    func unavailable() async throws {
        let server = try TestServer()
        let chunks = AsyncStream<Data> { $0.finish() }
        let scratch = try ScratchDirectory()
        let missing = scratch.file("missing")
        let form = MultipartFormData()
        form.append(missing, withName: "part")
        let bodies: [(RequestBody, CurlewError.Code)] = [
            (.sequence(chunks, length: 5), .bodyUnavailable), (.file(missing), .fileUnreadable),
            (.multipart(form), .multipartEncodingFailed),
        ]
        for (body, code) in bodies {
            let request = session.streamRequest(server.url("/anything"), body: body)
            let error = await #expect(throws: CurlewError.self) { try await request.head() }
            #expect(error?.code == code)
        }
    }

    @Test("a redirect that keeps the body sends it again, except for a sequence", arguments: Kind.allCases)
    func redirect(_ kind: Kind) async throws {
        let server = try TestServer()
        server.script("/from", .status(307, headers: ["Location": "/echo"]))
        server.script("/echo", echo)
        let bytes = Data("all of it".utf8)
        let scratch = try ScratchDirectory()
        let body = try kind.body(bytes, in: scratch)
        // Without `Expect: 100-continue` the server has received the body when it redirects.
        let request = session.streamRequest(server.url("/from"), body: body).expectContinue(.never)
        if kind == .sized || kind == .unsized {
            let error = await #expect(throws: CurlewError.self) { for try await _ in request.chunks {} }
            #expect(error?.code == .bodyUnavailable)
            return
        }
        for try await _ in request.chunks {}
        #expect(server.requests.map(\.path) == ["/from", "/echo"])
        #expect(Set(server.requests.map(\.body)).count == 1)
        withExtendedLifetime(scratch) {}
    }

    @Test(
        "a sequence that can be made again is sent again after a redirect, a challenge and a retry",
        arguments: [true, false])
    func remadeSequence(hasLength: Bool) async throws {
        let server = try TestServer()
        server.script(
            "/from", .status(503), .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]),
            .status(307, headers: ["Location": "/echo"]))
        server.script("/echo", echo)
        let made = Lock(0)
        let body = RequestBody.sequence(length: hasLength ? 9 : nil) {
            made.withLock { $0 += 1 }
            return AsyncStream<Data> { continuation in
                for chunk in ["all ", "", "of it"] { continuation.yield(Data(chunk.utf8)) }
                continuation.finish()
            }
        }
        let session = Session(
            interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0, retryableHTTPMethods: [.put]))
        let request = session.streamRequest(server.url("/from"), method: .put, body: body)
            .authenticate(with: TransferAuthentication(scheme: .any, username: "a", password: "b"))
        var answer = Data()
        for try await chunk in request.chunks { answer += chunk }
        #expect(answer == Data("all of it".utf8))
        #expect(server.requests.map(\.path) == ["/from", "/from", "/from", "/echo"])
        #expect(Set(server.requests.map(\.body)) == [answer])
        #expect(made.withLock { $0 } == 4)
    }

    @Test("leaving the loop or cancelling its task ends the sending of the body", arguments: [true, false])
    func cancellation(_ isCancelled: Bool) async throws {
        let server = try TestServer()
        server.script("/echo", echo)
        let ended = Gate()
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.onTermination = { _ in ended.open() }
        source.yield(Data("one".utf8))
        let request = session.streamRequest(server.url("/echo"), body: .sequence(chunks))
        let reader = Task { () -> CurlewError.Code? in
            do throws(CurlewError) {
                for try await _ in request.chunks {
                    if isCancelled { withUnsafeCurrentTask { $0?.cancel() } } else { break }
                }
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await reader.value == (isCancelled ? .cancelled : nil))
        try await ended.wait()
        try await server.waitForOpenConnections(atMost: 0)
        try await eventually { server.abortedRequests.count == 1 }
        await session.drain()
    }

    @Test("a rejection before the end of the body is an error with the response's body")
    func earlyRefusal() async throws {
        let server = try TestServer()
        server.script("/x", .text("too large", status: 413).changed { $0.readsBody = false })
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data(count: 1000))
        let request = session.streamRequest(server.url("/x"), body: .sequence(chunks)).expectContinue(.never)
        let error = await #expect(throws: CurlewError.self) { for try await _ in request.chunks {} }
        #expect(error?.responseCode == 413)
        #expect(error?.responseBody == Data("too large".utf8))
    }

    @Test("the cURL description of a streamed request contains its body and method")
    func commandLine() async throws {
        let request = Session(transport: MockTransport { _ in .text("ok") })
            .streamRequest("https://example.org/", body: .file(URL(filePath: "/etc/hostname")))
        for try await _ in request.chunks {}
        #expect(request.cURLDescription().contains("--data-binary '@/etc/hostname'"))
        #expect(request.cURLDescription().contains("-X 'POST'"))
    }
}
