import CurlewAFNetworking
import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

/// User objects and user closures that call Curlew while they are released. No lock may be held at that moment; a debug
/// build traps if one is.
@Suite(.timeLimit(.minutes(4)))
struct UserObjectReleaseTests {
    /// An option that takes a closure or an object, and of which only the last one counts.
    enum Option: String, CaseIterable, Sendable {
        case redirect, urlRequest, task, head, askedHead, curl, uploadProgress, downloadProgress
    }

    @Test(arguments: Option.allCases)
    func replacedOptionObjectMayUseRequestInDeinit(_ option: Option) {
        let request = Session(transport: MockTransport()).request("https://example.org/")
        let answers = Recorded<RequestState>()
        set(option, of: request, holding: Asker { [weak request] in request.map { answers.note($0.state) } })
        set(option, of: request, holding: nil)
        #expect(answers.all == [.initialized])
    }

    private func set(_ option: Option, of request: DataRequest, holding asker: Asker?) {
        switch option {
        case .redirect: request.redirect(using: Holder(asker: asker))
        case .urlRequest: request.onURLRequestCreation { _ in _ = asker }
        case .task: request.onURLSessionTaskCreation { _ in _ = asker }
        case .head: request.onHTTPResponse { (_: HTTPURLResponse) -> Void in _ = asker }
        case .askedHead: request.onHTTPResponse(on: .main) { _, answer in answer(asker == nil ? .allow : .cancel) }
        case .curl: request.cURLDescription(on: .main) { _ in _ = asker }
        case .uploadProgress: request.uploadProgress { _ in _ = asker }
        case .downloadProgress: request.downloadProgress { _ in _ = asker }
        }
    }

    private struct Holder: CurlewAlamofire.RedirectHandler, Curlew.RequestInterceptor {
        let asker: Asker?
    }

    @Test func monitorMayUseItsRequestToReturnItsQueue() {
        struct Asking: Curlew.EventMonitor {
            let request: Request
            var queue: DispatchQueue { request.isInitialized ? .main : .global() }
        }
        let request = Session(transport: MockTransport()).request("https://example.org/")
        request.eventMonitor(Asking(request: request))
        #expect(request.isInitialized)
    }

    private struct Again: Curlew.RequestRetrier {
        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult { .retry }
    }

    @Test func errorMayUseRequestInDeinitOfItsAttempt() async throws {
        struct Failure: Error {
            let asker: Asker
        }
        let answers = Recorded<RequestState>()
        let other = Session(transport: MockTransport()).request("https://example.org/")
        let transport = MockTransport { request in
            guard request.index == 0 else { return .text("x") }
            let failure = Failure(asker: Asker { answers.note(other.state) })
            throw CurlewError(.receiveFailed, phase: .receive, underlying: failure)
        }
        var request: DataRequest? = Session(transport: transport).request("https://example.org/").retry(using: Again())
        #expect(try await request?.data() == Data("x".utf8))
        #expect(request?.attempts.first?.error?.underlying is Failure)
        #expect(answers.all.isEmpty)
        request = nil
        // The retrier's child task releases the error after it has returned, which may be after the result is known.
        while answers.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        #expect(answers.all == [.initialized])
    }

    @Test func sessionObjectMayUseLastRequestInDeinit() async throws {
        let answers = Recorded<RequestState>()
        let made = Recorded<DataRequest>()
        func makeRequest() -> DataRequest {
            let asker = Asker { answers.note(made.all.first?.state ?? .initialized) }
            let transport = MockTransport { _ in withExtendedLifetime(asker) { .text("x") } }
            return Session(transport: transport).request("https://example.org/")
        }
        let request = makeRequest()
        made.note(request)
        request.end(with: .cancelled)
        #expect(answers.all.count == 1)
    }

    /// Transports and the controls of their exchanges may be user code too.
    @Test func transferControlMayUseTheRequest() async throws {
        let transport = AskingTransport()
        let request = Session(transport: transport).request("https://example.org/")
        transport.ask = { _ = request.state }
        request.suspend()
        async let body = request.data()
        for _ in 0..<50 {
            request.resume()
            request.suspend()
        }
        request.resume()
        #expect(try await body == Data())
        transport.ask = {}
    }

    /// A redirect and a failure are followed by another exchange; an exchange that is sent again with credentials gets
    /// a new control.
    @Test func controlOfPreviousExchangeMayUseRequestInDeinit() async throws {
        let answers = Recorded<RequestState>()
        let made = Recorded<DataRequest>()
        let transport = ForgettingTransport { answers.note(made.all.first?.state ?? .initialized) }
        let request = Session(transport: transport).request("https://example.org/redirected").retry(using: Again())
        made.note(request)
        #expect(try await request.data() == Data())
        #expect(request.tasks.count == 3)
        #expect(answers.all.count == 6)
    }

    @Test func replacedSerializedValueMayUseItselfInDeinit() async throws {
        let answers = Recorded<Bool>()
        let made = Lock<SerializedValue<Asker>?>(nil)
        let value = SerializedValue<Asker> { _ in
            Asker {
                guard let value = made.withLock({ $0 }) else { return }
                value.fail(with: .cancelled)
                answers.note(true)
            }
        }
        made.withLock { $0 = value }
        #expect(await value.make(of: RunResult(error: .cancelled)) == nil)
        #expect(await value.make(of: RunResult(error: .cancelled)) == nil)
        // The second object is released when the first one's end replaces it.
        #expect(answers.all == [true, true])
        _ = made.withLock { exchange(&$0, with: nil) }
    }

    @Test func changeOfDefaultsMayUseTheClient() {
        let client = HTTPSessionManager(baseURL: "https://example.org/", transport: { MockTransport() })
        client.changeDefaults { $0.timeoutInterval = (client.defaults.timeoutInterval ?? 1) + 1 }
        #expect(client.defaults.timeoutInterval == 2)
        client.headers.change { $0.update(name: "X-Number", value: "\(client.headers.headers.count)") }
        #expect(client.headers["X-Number"] == "0")
        // The nested change ends first, and the outer one overwrites it.
        client.headers.change { fields in
            client.headers["X-Inner"] = "1"
            fields.add(name: "X-Number", value: "1")
        }
        #expect(client.headers["X-Number"] == "1")
    }

    @Test func concurrentChangesOfDefaultsAreNotLost() async {
        let client = HTTPSessionManager(baseURL: "https://example.org/", transport: { MockTransport() })
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<200 {
                        client.changeDefaults { $0.timeoutInterval = ($0.timeoutInterval ?? 0) + 1 }
                        client.headers.change { fields in
                            let number = fields.value(for: "X-Number").flatMap(Int.init) ?? 0
                            fields.add(name: "X-Number", value: "\(number + 1)")
                        }
                    }
                }
            }
        }
        #expect(client.defaults.timeoutInterval == 800)
        #expect(client.headers["X-Number"] == "800")
    }

    @Test func credentialMayUseTheInterceptor() async throws {
        let interceptor = AuthenticationInterceptor(authenticator: Bearer())
        let answers = Recorded<Bool>()
        let ask: @Sendable () -> Void = { [weak interceptor] in answers.note(interceptor?.credential == nil) }
        interceptor.credential = Token(asker: Asker(ask), ask: ask)
        let session = Session(transport: MockTransport { _ in .text("x") }, interceptor: interceptor)
        #expect(try await session.request("https://example.org/").data() == Data("x".utf8))
        #expect(answers.all == [false])
        interceptor.credential = nil
        #expect(answers.all == [false, true])
    }

    private struct Token: AuthenticationCredential {
        let asker: Asker
        let ask: @Sendable () -> Void
        var requiresRefresh: Bool {
            ask()
            return false
        }
    }

    private final class Bearer: CurlewAlamofire.Authenticator {
        func apply(_ credential: Token, to urlRequest: inout URLRequest) {}
        func didRequest(
            _ urlRequest: URLRequest,
            with response: HTTPURLResponse,
            failDueToAuthenticationError error: any Error
        ) -> Bool { false }
        func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool { true }
    }

    @Test func replacedActivityClosureMayUseMonitorInDeinit() {
        let monitor = NetworkActivityMonitor()
        let answers = Recorded<Bool>()
        func listen(_ asker: Asker) { monitor.onChange { _ in _ = asker } }
        listen(Asker { [weak monitor] in answers.note(monitor?.isActive == false) })
        #expect(answers.all.isEmpty)
        monitor.onChange(nil)
        #expect(answers.all == [true])
    }

    /// Cancelling runs the cancellation handlers of the cancelled user code on the cancelling thread.
    @Test("the cancellation handler of user code may cancel that code again")
    func cancellingFromACancellationHandler() async throws {
        let answers = Recorded<InterruptibleUserCode>()
        let isRunning = Gate()
        let code = InterruptibleUserCode()
        answers.note(code)
        async let wasCancelled = code.run {
            await withTaskCancellationHandler {
                try? await isRunning.wait()
                return Task.isCancelled
            } onCancel: {
                answers.all.first?.cancel()
            }
        }
        try await isRunning.waitForArrivals(count: 1)
        code.cancel()
        #expect(try await wasCancelled)
    }

    /// A transport that keeps no control, so the request has the last reference to each.
    private final class ForgettingTransport: Transport {
        private let ask: @Sendable () -> Void
        private let count = Lock(0)

        init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }

        func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
            // A transport calls `willStart` again if it repeats the exchange over another connection.
            sink.willStart(AskingControl(asker: Asker(ask)))
            sink.willStart(AskingControl(asker: Asker(ask)))
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 2 { throw CurlewError(.receiveFailed, phase: .receive) }
            let isRedirect = request.url.path == "/redirected" && number == 1
            let head = ResponseHead(status: isRedirect ? 302 : 200, headers: isRedirect ? ["Location": "/"] : [:])
            _ = sink.didReceive(head: head)
            return TransferOutcome(head: head, metrics: TransferMetrics(queued: Date(), ended: Date()))
        }
    }

    private final class AskingControl: TransferControl {
        private let asker: Asker
        init(asker: Asker) { self.asker = asker }
        func resumeReceiving() {}
        func suspend() {}
        func resume() {}
        func cancel(with error: CurlewError) {}
    }

    /// Answers at once. Its control calls a closure of the test.
    private final class AskingTransport: Transport, TransferControl {
        private let question = Lock<@Sendable () -> Void>({})
        var ask: @Sendable () -> Void {
            get { question.withLock { $0 } }
            set { question.withLock { $0 = newValue } }
        }

        func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
            sink.willStart(self)
            let head = ResponseHead(status: 200, headers: [:])
            _ = sink.didReceive(head: head)
            return TransferOutcome(head: head, metrics: TransferMetrics(queued: Date(), ended: Date()))
        }

        func resumeReceiving() { ask() }
        func suspend() { ask() }
        func resume() { ask() }
        func cancel(with error: CurlewError) { ask() }
    }
}
