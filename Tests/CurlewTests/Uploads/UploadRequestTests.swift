import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

@Suite("Upload requests", .timeLimit(.minutes(4)))
struct UploadRequestTests {
    let session = Session()

    @Test(
        "Expect: 100-continue is sent for large bodies, always or never, as the request says",
        arguments: [
            (1000, ExpectContinue.automatic, false), (2 << 20, .automatic, true), (1000, .always, true),
            (2 << 20, .never, false),
        ])
    func expectation(_ count: Int, _ expectation: ExpectContinue, _ isAsked: Bool) async throws {
        let server = try TestServer()
        _ = try await session.upload(Data(count: count), to: server.url("/anything")).expectContinue(expectation).data()
        #expect((server.requests.last?.headers["Expect"] == "100-continue") == isAsked)
    }

    /// The system reports these files as empty although they have contents.
    @Test("a file in /proc is sent to its end, but is an error in a form, which needs lengths")
    func fileOfUnknownLength() async throws {
        let server = try TestServer()
        let file = URL(filePath: "/proc/self/status")
        let (text, _) = try await (Data(contentsOf: file), session.upload(file, to: server.url("/anything")).data())
        let body = try #require(server.requests.last?.body)
        #expect(body.starts(with: text.prefix(10)) && body.count > 100)
        #expect(server.requests.last?.headers["Content-Length"] == nil)

        let form = session.upload(
            multipartFormData: { $0.append(file, withName: "a", fileName: "b", mimeType: "text/plain") },
            to: server.url("/anything"))
        let error = await #expect(throws: CurlewError.self) { try await form.data() }
        #expect(error?.code == .multipartEncodingFailed)
        #expect(error?.reason.contains("/proc/self/status") == true)
        #expect(server.requestCount == 1)

        // An empty file is sent with length 0.
        let scratch = try ScratchDirectory()
        try Data().write(to: scratch.file("empty"))
        _ = try await session.upload(scratch.file("empty"), to: server.url("/anything")).data()
        #expect(server.requests.last?.headers["Content-Length"] == "0")
    }

    @Test("a response before the end of the body is delivered", arguments: [true, false])
    func earlyAnswer(_ isAsked: Bool) async throws {
        let server = try TestServer()
        server.script("/x", .text("too large", status: 413).changed { $0.readsBody = false })
        let scratch = try ScratchDirectory()
        let file = scratch.file("large")
        try #require(FileManager.default.createFile(atPath: file.plainPath, contents: nil))
        try FileHandle(forWritingTo: file).truncate(atOffset: 200 << 20)
        let request = session.upload(file, to: server.url("/x")).expectContinue(isAsked ? .always : .never)
        let error = await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.responseCode == 413)
        #expect(error?.responseBody == Data("too large".utf8))
    }

    @Test(
        "upload progress never decreases and ends at the total, even if the body is sent again",
        arguments: [true, false])
    func progress(_ isSentAgain: Bool) async throws {
        let server = try TestServer()
        server.script("/from", .status(307, headers: ["Location": "/anything"]))
        let request = session.upload(Data(count: 5 << 20), to: server.url(isSentAgain ? "/from" : "/anything"))
            .expectContinue(.never)
        let values = Lock<[Int64]>([])
        let queue = DispatchQueue(label: "p")
        request.uploadProgress(queue: queue) { progress in
            values.withLock { $0.append(progress.completedUnitCount) }
        }
        _ = try await request.data()
        await queue.settled()
        #expect(request.tasks.count == (isSentAgain ? 2 : 1))
        #expect(request.uploadProgress.fractionCompleted == 1)
        let seen = values.withLock { $0 }
        #expect(!seen.isEmpty)
        #expect(seen == seen.sorted())
    }

    @Test("the error of a body that cannot be sent again contains the failure that was to be retried")
    func spentBody() async throws {
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        let transport = MockTransport { _ in .status(503) }
        let retrier = CountingRetrier(retries: 2)
        let error = await #expect(throws: CurlewError.self) {
            try await Session(transport: transport, interceptor: retrier)
                .upload(chunks, to: "https://example.org/").data()
        }
        #expect(error?.code == .bodyUnavailable)
        #expect((error?.underlying as? CurlewError)?.code == .unacceptableStatus)
        #expect((error?.underlying as? CurlewError)?.responseCode == 503)
    }

    private struct FileMaker: UploadableConvertible {
        let makesNewFiles: Bool
        let scratch: ScratchDirectory
        let made = Lock(0)

        func createUploadable() throws -> UploadRequest.Uploadable {
            let number = made.withLock { made in
                made += 1
                return made
            }
            let file = scratch.file(makesNewFiles ? "body \(number)" : "body")
            try Data("body".utf8).write(to: file)
            return .file(file, shouldRemove: true)
        }
    }

    @Test(
        "a retry with a new file removes the previous one, and the end of the request removes the last",
        arguments: [true, false])
    func filesOfEarlierTries(_ areNew: Bool) async throws {
        let scratch = try ScratchDirectory()
        let there = Recorded<[String]>()
        let transport = MockTransport { request in
            there.note(scratch.names)
            return request.bodyText == "body" && there.all.count == 3 ? .text("ok") : .status(503)
        }
        let maker = FileMaker(makesNewFiles: areNew, scratch: scratch)
        let request = try Session(transport: transport, interceptor: CountingRetrier(retries: 2))
            .upload(maker, with: URLRequest(url: "https://example.org/", method: .post))
        #expect(try await request.string() == "ok")
        #expect(there.all == (areNew ? [["body 1"], ["body 2"], ["body 3"]] : [["body"], ["body"], ["body"]]))
        #expect(scratch.names.isEmpty)
    }

    @Test("the stream of a URLRequest is sent as its body", arguments: [nil, "6"])
    func bodyStream(_ length: String?) async throws {
        let server = try TestServer()
        var urlRequest = try URLRequest(url: server.url("/anything"), method: .post)
        urlRequest.httpBodyStream = InputStream(data: Data("stream".utf8))
        urlRequest.setValue(length, forHTTPHeaderField: "Content-Length")
        _ = try await session.request(urlRequest).data()
        let received = try #require(server.requests.last)
        #expect(received.body == Data("stream".utf8))
        #expect(received.headers["Content-Length"] == length)
        #expect((received.headers["Transfer-Encoding"] == "chunked") == (length == nil))
    }

    @Test("the stream of a URLRequest is sent once, and its retry is an error")
    func spentBodyStream() async throws {
        var urlRequest = try URLRequest(url: "https://example.org/", method: .post)
        urlRequest.httpBodyStream = InputStream(data: Data("stream".utf8))
        let transport = MockTransport { _ in .status(503) }
        let request = Session(transport: transport, interceptor: CountingRetrier(retries: 2)).request(urlRequest)
        let error = await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(error?.code == .bodyUnavailable)
        #expect((error?.underlying as? CurlewError)?.responseCode == 503)
        #expect(transport.requests.map(\.body) == [Data("stream".utf8)])
    }

    @Test("a redirect that would send a sequence again fails with bodyUnavailable")
    func spentSequence() async throws {
        let server = try TestServer()
        server.script("/from", .status(307, headers: ["Location": "/anything"]))
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        let request = session.upload(chunks, to: server.url("/from")).expectContinue(.never)
        let error = await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(error?.code == .bodyUnavailable)
    }
}
