import Curlew
import CurlewAlamofire
import Dispatch
import Foundation
import Testing

@testable import CurlewTesting

@Suite(.timeLimit(.minutes(4)))
struct StreamRequestTests {
    let pieces = ["one\ntw", "o\n\nthree"].map { Data($0.utf8) }
    let queue = DispatchQueue(label: "stream")

    @Test func streamDeliversChunksAndLines() async throws {
        let session = Session(transport: MockTransport { [pieces] _ in .chunks(pieces) })
        let url = "https://example.org/"
        var chunks: [Data] = []
        for try await chunk in session.streamRequest(url).chunks { chunks.append(chunk) }
        #expect(chunks == pieces)
        var lines: [String] = []
        for try await line in session.streamRequest(url).lines { lines.append(line) }
        #expect(lines == ["one", "two", "", "three"])
    }

    @Test func streamDeliversServerSentEvents() async throws {
        let session = Session(
            transport: MockTransport { _ in .chunks([Data("id: 7\nda".utf8), Data("ta: hello\n\n".utf8)]) }
        )
        var events: [ServerSentEvent] = []
        for try await event in session.streamRequest("https://example.org/").events { events.append(event) }
        #expect(events.map(\.data) == ["hello"])
        #expect(events.first?.id == "7")
    }

    /// Cancels in the pause before the next connection, or while that connection is open.
    @Test(arguments: [true, false])
    func cancellingTheRequestEndsItsReconnectingEvents(isPausing: Bool) async throws {
        let transport = MockTransport { request in
            request.headers["Last-Event-ID"] == nil
                ? .chunks([Data("id: 1\ndata: a\n\n".utf8)], type: "text/event-stream") : .hanging
        }
        let session = Session(transport: transport)
        let request = session.streamRequest("https://example.org/")
        let events = request.events.reconnecting(
            delay: isPausing ? .seconds(3600) : .milliseconds(1), maximumDelay: .seconds(3600))
        let (told, outcome) = (Watched<[String]>([]), Watched<Result<Void, CurlewError>?>(nil))
        let reader = Task {
            do throws(CurlewError) {
                for try await event in events { told.change { $0.append(event.data) } }
                outcome.change { $0 = .success(()) }
            } catch {
                outcome.change { $0 = .failure(error) }
            }
        }
        defer { reader.cancel() }
        try await eventually { told.value == ["a"] && request.isFinished }
        if !isPausing { try await transport.waitForRequests(count: 2) }
        request.cancel()
        try await eventually { outcome.value != nil }
        let error = #expect(throws: CurlewError.self) { try outcome.value?.get() }
        #expect(error?.code == .cancelled)
        #expect(transport.requests.count == (isPausing ? 1 : 2))
        await session.drain()
        #expect(transport.runningCount == 0)
    }

    /// A short response may have ended by the time its head is known.
    @Test(arguments: [true, false])
    func eventsReconnectAfterTheirRequestHasEnded(keepsSession: Bool) async throws {
        let transport = MockTransport()
        transport.enqueue(
            .chunks([Data("data: 1\n\n".utf8)], type: "text/event-stream"),
            .chunks([Data("data: 2\n\n".utf8)], type: "text/event-stream"), .status(204))
        var session: Session? = Session(transport: transport)
        let request = try #require(session).streamRequest("https://example.org/")
        _ = try await request.head()
        try await eventually { request.isFinished }
        if !keepsSession {
            weak var left: Session?
            left = session
            session = nil
            try await eventually { left == nil }
        }
        var seen: [String] = []
        do throws(CurlewError) {
            for try await event in request.events.reconnecting(delay: .milliseconds(1)) { seen.append(event.data) }
            #expect(keepsSession)
        } catch {
            #expect(!keepsSession && error.isSessionDeinitializedError)
        }
        #expect(seen == (keepsSession ? ["1", "2"] : ["1"]))
        #expect(transport.requests.count == (keepsSession ? 3 : 1))
        withExtendedLifetime(session) {}
    }

    @Test func anUnacceptableStatusIsNotStreamed() async {
        let session = Session(transport: MockTransport { _ in .text("sorry", status: 500) })
        do throws(CurlewError) {
            let stream = session.streamRequest("https://example.org/").chunks
            var iterator = stream.makeAsyncIterator()
            _ = try await iterator.next()
            Issue.record("streamed")
        } catch {
            #expect(error.code == .unacceptableStatus)
            #expect(error.responseBody == Data("sorry".utf8))
        }
    }

    @Test func leavingTheLoopCancelsTheRequest() async throws {
        let transport = MockTransport { _ in
            var response = MockResponse.chunks([Data("a".utf8)])
            response.body.append(.wait(Gate()))
            return response
        }
        let session = Session(transport: transport)
        let request = session.streamRequest("https://example.org/")
        for try await _ in request.chunks { break }
        #expect(request.isCancelled)
        await session.drain()
        #expect(transport.runningCount == 0)
    }

    /// The user is asked about the head first. Then it is validated, and then the body is delivered.
    @Test func onHTTPResponseDecidesBeforeValidation() async throws {
        let events = Recorded<String>()
        let request = Session(transport: MockTransport { [pieces] _ in .chunks(pieces) })
            .streamRequest("https://example.org/")
            .validate { _, _ in
                events.note("validation")
                return .success(())
            }
            .onHTTPResponse { _ in
                for _ in 0..<1000 { await Task.yield() }
                events.note("answer")
                return .allow
            }
        for try await _ in request.chunks { events.note("chunk") }
        #expect(events.all == ["answer", "validation", "chunk", "chunk"])
    }

    /// The exchange of an empty response ends while its validation runs on another thread.
    @Test func anEmptyResponseIsValidatedOnce() async throws {
        let server = try TestServer()
        let session = Session()
        for _ in 0..<50 {
            server.script("/empty", .status(404, headers: ["Content-Length": "0"]))
            let statuses = Recorded<Int>()
            let request = session.streamRequest(server.url("/empty"))
                .validate { _, response in
                    // Long enough for the exchange to end.
                    let digits = (0..<2000).map(String.init).joined()
                    statuses.note(digits.isEmpty ? 0 : response.statusCode)
                    return .success(())
                }
            for try await _ in request.chunks { Issue.record("there is no body") }
            #expect(statuses.all == [404])
        }
    }

    @Test func unfollowedRedirectIsStreamedAfterValidation() async throws {
        let transport = MockTransport { _ in .text("moved", status: 302).header("Location", "/next") }
        let request = Session(transport: transport).streamRequest("https://example.org/")
            .redirect(using: Redirector.doNotFollow)
            .validate(statusCode: [302])
        var body = Data()
        for try await chunk in request.chunks { body += chunk }
        #expect(body == Data("moved".utf8))
    }

    @Test func headArrivesBeforeTheBody() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            MockResponse(status: 200, headers: ["X-A": "b"], body: [.wait(gate), .bytes(Data("late".utf8))])
        }
        let request = Session(transport: transport).streamRequest("https://example.org/")
        let head = try await request.head()
        #expect(head.headers["X-A"] == "b")
        gate.open()
        var body = Data()
        for try await chunk in request.chunks { body += chunk }
        #expect(body == Data("late".utf8))
    }

    @Test func everyHandlerGetsEveryChunkAndTheCompletionLast() async {
        let session = Session(
            transport: MockTransport { [pieces] _ in .chunks(pieces) }, startRequestsImmediately: false)
        let first = Recorded<String>()
        let second = Recorded<String>()
        await withCheckedContinuation { continuation in
            // Started by the first handler, the request might finish before the second is attached.
            session.streamRequest("https://example.org/")
                .responseStreamString(on: queue) { stream in
                    first.note(stream.value ?? "end")
                }
                .responseStreamString(on: DispatchQueue(label: "other")) { stream in
                    second.note(stream.value ?? "end")
                    if stream.completion != nil { continuation.resume() }
                }
                .resume()
        }
        await queue.settled()
        #expect(first.all == ["one\ntw", "o\n\nthree", "end"])
        #expect(second.all == first.all)
    }

    @Test func aHandlerThatThrowsEndsTheStreamWithItsError() async {
        struct Refusal: Error {}
        let session = Session(transport: MockTransport { [pieces] _ in .chunks(pieces) })
        let error = await withCheckedContinuation { continuation in
            session.streamRequest("https://example.org/").responseStream(on: queue) { stream in
                if let completion = stream.completion { continuation.resume(returning: completion.error) }
                throw Refusal()
            }
        }
        #expect(error?.isResponseSerializationError == true)
    }

    @Test func aRetriedStreamDeliversTheAcceptedAttempt() async {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.text("denied", status: 401), .text("granted"))
        let session = Session(transport: transport, interceptor: CountingRetrier(retries: 1))
        var seen: [String] = []
        for await event in session.streamRequest("https://example.org/").validate().streamTask().streamingStrings() {
            seen.append(event.value ?? "end \(event.completion?.response?.statusCode ?? 0)")
        }
        #expect(seen == ["granted", "end 200"])
    }

    @Test func drainingDiscardsUnreadBodyOfStream() async throws {
        let server = try TestServer()
        let session = Session()
        let request = session.streamRequest(server.url("/bytes/5000000")).resume()
        try await server.waitForRequests(count: 1)
        await session.drain()
        #expect(request.isFinished)
        #expect(request.downloadProgress.completedUnitCount == 5_000_000)
    }

    @Test func resumedStreamKeepsItsBodyForItsReader() async throws {
        let session = Session(transport: MockTransport { [pieces] _ in .chunks(pieces) })
        let request = session.streamRequest("https://example.org/").resume()
        _ = await request.urlSessionTasks().first { _ in true }
        var chunks: [Data] = []
        for try await chunk in request.chunks { chunks.append(chunk) }
        #expect(chunks == pieces)
    }

    @Test(arguments: [true, false])
    func streamOfTransportWithoutControlIsValidated(isAcceptable: Bool) async {
        let session = Session(transport: Uncontrolled())
        let request = session.streamRequest("https://example.org/").validate { _, _ in
            isAcceptable ? .success(()) : .failure(CocoaError(.featureUnsupported))
        }
        do {
            var body = Data()
            for try await chunk in request.chunks { body += chunk }
            #expect(isAcceptable)
            #expect(body == Data("body".utf8))
        } catch {
            #expect(!isAcceptable)
            #expect(error.isResponseValidationError)
        }
    }

    /// A transport that gives its sink no control.
    private struct Uncontrolled: Transport {
        func perform(
            _ request: TransferRequest, sink: any TransferSink
        ) async throws(CurlewError) -> TransferOutcome {
            let head = ResponseHead(status: 200)
            if case .abort(let error) = sink.didReceive(head: head) { throw error }
            let answer = Data("body".utf8).withUnsafeBytes { sink.didReceive(body: $0) }
            if case .abort(let error) = answer { throw error }
            return TransferOutcome(head: head, metrics: TransferMetrics(queued: Date(), ended: Date()))
        }
    }

    @Test func breakingOutOfStreamTaskCancelsTheRequest() async throws {
        let transport = MockTransport { _ in
            var response = MockResponse.chunks([Data("a".utf8)])
            response.body.append(.wait(Gate()))
            return response
        }
        let request = Session(transport: transport).streamRequest("https://example.org/")
        for await _ in request.streamTask().streamingData() { break }
        #expect(request.isCancelled)
    }
}
