import Curlew
import CurlewAlamofire
import CurlewTesting
import Dispatch
import Foundation
import Testing

/// The hook for a response's head decides even if there is no body to hold back.
@Suite("Decisions about response heads", .timeLimit(.minutes(4)))
struct HeadAnswerTests {
    /// Responses without a body, one of which could be followed as a redirect.
    static let bodiless: [TestServer.Response] = [
        .status(204), .status(200, headers: ["Content-Length": "0"]), .status(304),
        .status(302, headers: ["Location": "/next", "Content-Length": "0"]),
    ]

    private func request(_ index: Int, from server: TestServer) -> DataRequest {
        server.script("/bodiless", Self.bodiless[index])
        return Session().request(server.url("/bodiless"))
            .redirect(using: Redirector.doNotFollow)
            .acceptingAnyStatus()
    }

    @Test(arguments: bodiless.indices)
    func lateRefusalOfTheHeadCancelsTheRequest(_ index: Int) async throws {
        let server = try TestServer()
        let request = request(index, from: server)
            .onHTTPResponse { _ -> Request.ResponseDisposition in
                for _ in 0..<1000 { await Task.yield() }
                return .cancel
            }
        let error = await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(error?.code == .cancelled)
        #expect(request.isCancelled)
    }

    @Test(arguments: bodiless.indices)
    func requestWithoutBodyEndsAfterApprovalOfTheHead(_ index: Int) async throws {
        let server = try TestServer()
        let events = Recorded<String>()
        let data = try await request(index, from: server)
            .onHTTPResponse { _ -> Request.ResponseDisposition in
                for _ in 0..<1000 { await Task.yield() }
                events.note("answer")
                return .allow
            }
            .data()
        events.note("end")
        #expect(data.isEmpty)
        #expect(events.all == ["answer", "end"])
    }

    @Test func bodyOfUnfollowedRedirectWaitsForDecision() async throws {
        let events = Recorded<String>()
        let transport = MockTransport { _ in .text("moved", status: 302).header("Location", "/next") }
        let request = Session(transport: transport).streamRequest("https://example.org/")
            .redirect(using: Redirector.doNotFollow)
            .acceptingAnyStatus()
            .onHTTPResponse { _ -> Request.ResponseDisposition in
                for _ in 0..<1000 { await Task.yield() }
                events.note("answer")
                return .allow
            }
        for try await _ in request.chunks { events.note("chunk") }
        #expect(events.all == ["answer", "chunk"])
    }

    @Test(arguments: [true, false])
    func downloadWaitsForDecisionAboutTheHead(isWanted: Bool) async throws {
        let server = try TestServer()
        let target = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: target) }
        let request = Session().download(server.url("/bytes/300000"), to: { _, _ in (target, []) })
            .onHTTPResponse { _ -> Request.ResponseDisposition in
                for _ in 0..<1000 { await Task.yield() }
                return isWanted ? .allow : .cancel
            }
        if isWanted {
            #expect(try await request.data() == TestServer.patternBytes(count: 300_000))
        } else {
            let error = await #expect(throws: CurlewError.self) { try await request.file() }
            #expect(error?.code == .cancelled)
            #expect(!FileManager.default.fileExists(atPath: target.path))
        }
    }

    @Test func requestWithUndecidedHeadCanBeCancelled() async throws {
        let server = try TestServer()
        let asked = Gate()
        let request = request(0, from: server)
            .onHTTPResponse(on: DispatchQueue(label: "asked")) { _, _ in asked.open() }
        let task = Task { try await request.data() }
        try await asked.wait()
        request.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test func requestWithUndecidedHeadEndsWithTotalTimeout() async throws {
        let server = try TestServer()
        let request = request(0, from: server)
            .onHTTPResponse(on: DispatchQueue(label: "asked")) { _, _ in }
            .timeouts { $0.total = .seconds(1) }
        let error = await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(error?.code == .totalTimedOut)
    }

    @Test func lateDecisionDoesNotCancelTheNextAttempt() async throws {
        let decisions = Recorded<@Sendable (Request.ResponseDisposition) -> Void>()
        let session = Session(transport: CutOffOnce(), interceptor: Retrier { _, _, _ in .retry })
        let request = session.request("https://example.org/")
            .onHTTPResponse(on: DispatchQueue(label: "heads")) { _, decide in
                guard let late = decisions.all.first else { return decisions.note(decide) }
                late(.cancel)
                decide(.allow)
            }
        #expect(try await request.string() == "x")
        #expect(request.retryCount == 1)
    }

    /// The body continues only after the closure has returned, however late its queue runs it and whichever queue
    /// delivers the body.
    @Test func headIsReportedBeforeTheBodyOnEveryQueue() async throws {
        let events = Recorded<String>()
        let session = Session(transport: PausedAfterHead { events.note("resumed") })
        let (heads, chunks) = (DispatchQueue(label: "heads"), DispatchQueue(label: "chunks"))
        heads.suspend()
        await withCheckedContinuation { continuation in
            session.streamRequest("https://example.org/")
                .onHTTPResponse(on: heads) { _ in events.note("head") }
                .responseStream(on: chunks) { stream in
                    switch stream.event {
                    case .stream: events.note("chunk")
                    case .complete: continuation.resume()
                    }
                }
            heads.resume()
        }
        #expect(events.all == ["head", "resumed", "chunk"])
    }
}

/// Has a body at once, and delivers it when the pause that the sink may begin at the head has ended.
private final class PausedAfterHead: Transport, TransferControl {
    private let didResume: @Sendable () -> Void
    private let resumed = Gate()

    init(didResume: @escaping @Sendable () -> Void) { self.didResume = didResume }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        sink.willStart(self)
        let head = ResponseHead(status: 200)
        if case .pause = sink.didReceive(head: head) { try? await resumed.wait() }
        _ = Data("x".utf8).withUnsafeBytes { sink.didReceive(body: $0) }
        return TransferOutcome(head: head, metrics: TransferMetrics(queued: Date(), ended: Date()))
    }

    func resumeReceiving() {
        didResume()
        resumed.open()
    }
    func suspend() {}
    func resume() {}
    func cancel(with error: CurlewError) {}

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { .all }
}

/// Loses the connection of the first attempt right after the head.
private struct CutOffOnce: Transport {
    private let base = MockTransport { _ in .text("x") }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        guard request.attempt == 0 else { return try await base.perform(request, sink: sink) }
        sink.willStart(NoControl())
        _ = sink.didReceive(head: ResponseHead(status: 200))
        throw CurlewError(.receiveFailed, phase: .receive)
    }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { .all }
}
