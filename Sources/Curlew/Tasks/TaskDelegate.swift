internal import CurlewCore
internal import CurlewFailures
internal import Foundation

/// Collects one exchange for its request: head, bytes, progress. Each exchange has its own.
///
/// It never calls the session, the engine or user code; where users want to be told, it hands values to the
/// request, which passes them on to queues.
// SAFETY: ownership is handed over: the transport's thread alone touches it from `perform`'s start to
// its return, the run alone afterwards.
class TaskDelegate: TransferSink, @unchecked Sendable {
    let request: Request
    let task: TaskIdentifier
    let events: EventSink?

    // SAFETY: unchecked, because there is one owner at a time, which calls no foreign code during an access.
    /// The head, once it is known to be the answer or may be.
    @exclusivity(unchecked) private(set) var head: ResponseHead?
    /// Decoded body bytes so far.
    @exclusivity(unchecked) private(set) var received: Int64 = 0
    /// -1 is unknown.
    @exclusivity(unchecked) private(set) var expected: Int64 = -1
    /// The body of a response that may turn out to be a step on the way to the answer.
    @exclusivity(unchecked) private var detour: Detour?
    @exclusivity(unchecked) private var sent: Int64 = 0
    /// The body waits for it.
    @exclusivity(unchecked) private var awaitedAnswer: HeadAnswer?
    /// The exchange was ended from here.
    @exclusivity(unchecked) private(set) var hasAborted = false
    /// Where the exchange goes.
    let url: URL
    /// Whether the run has credentials for this response, so that it is not the answer yet.
    var isAnswerable: (@Sendable (ResponseHead) -> Bool)?

    private struct Detour {
        var body = Data()
        // More than any explanation that comes with a redirect.
        static let limit = 1024 * 1024
    }

    init(request: Request, task: TaskIdentifier, url: URL, events: EventSink?) {
        self.request = request
        self.task = task
        self.url = url
        self.events = events
    }

    // MARK: What the kinds differ in

    /// This is what goes out, over what, and within which time all that belongs to it must be done.
    func willPerform(_ lowered: TransferRequest, in session: Session, within budget: TimeoutBudget) {}

    /// The answer's head has come; its body follows.
    func begin(_ head: ResponseHead) -> Disposition { .proceed }

    /// The body is not to be kept as the kind of request keeps it, but in a file.
    func becomeDownload() -> Disposition { .proceed }

    /// The next bytes of the answer's body. After `.pause` the same come again.
    func take(_ bytes: UnsafeRawBufferPointer) -> Disposition { .proceed }

    /// The exchange is over, on the run: what was received, or why it could not be kept.
    func finish(_ error: CurlewError?) async -> Result<ReceivedBody, CurlewError> {
        error.map { .failure($0) } ?? .success(.none)
    }

    /// Returns when what `begin` paused for is there.
    func untilReady() async {}

    /// What was found about the head where that was judged before the body: an error and whether it is only the
    /// terminal's.
    var verdict: (CurlewError?, Bool)? { nil }

    /// Whether a body goes to its place only after the validation.
    var hasToSettle: Bool { false }

    /// The validation is through: a body may go to its place.
    func settle(accepted: Bool, body: ReceivedBody) async throws(CurlewError) -> ReceivedBody { body }

    // MARK: The sink

    func willStart(_ control: any TransferControl) { request.transferStarted(control) }

    func didReceive(informational head: ResponseHead) {}

    func didReceive(head: ResponseHead) -> Disposition {
        self.head = head
        guard !mayBeDetour(head), !(head.status == 401 && isAnswerable?(head) == true) else {
            detour = Detour()
            return .proceed
        }
        return noted(answer(head))
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        guard detour == nil else { return keepDetour(body) }
        if let awaitedAnswer {
            guard awaitedAnswer.allowsBody else { return .pause }
            self.awaitedAnswer = nil
            if awaitedAnswer.wantsFile, case .pause = becomeDownload() { return .pause }
        }
        let disposition = take(body)
        if case .proceed = disposition { count(body) }
        return noted(disposition)
    }

    private func noted(_ disposition: Disposition) -> Disposition {
        if case .abort = disposition { hasAborted = true }
        return disposition
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        // A body that is sent again, from its beginning, counts from where it was the first time.
        guard bodyBytes > sent else { return }
        let news = bodyBytes - sent
        sent = bodyBytes
        let total = expected ?? -1
        request.sent(TransferCount(completed: bodyBytes, total: total))
        guard let events else { return }
        let (task, session) = (task, request.sessionReference)
        events.emitProgress {
            $0.urlSession(
                session,
                task: task,
                didSendBodyData: news,
                totalBytesSent: bodyBytes,
                totalBytesExpectedToSend: total
            )
        }
    }

    // MARK: Redirects

    private func mayBeDetour(_ head: ResponseHead) -> Bool {
        guard head.status >= 300 else { return false }
        if head.status == 401 { return request.challengeHook != nil }
        return head.status < 400 && HTTPStatus(head.status).isRedirect && head.headers.contains(name: "Location")
    }

    // A body without an end must not keep the redirect from being followed, or refused, for ever.
    private func keepDetour(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        guard bytes.count <= Detour.limit - (detour?.body.count ?? 0) else {
            return .abort(
                CurlewError(.limitExceeded, phase: .redirect, reason: "a redirect's body is too large to keep")
            )
        }
        detour?.body.append(contentsOf: bytes)
        return .proceed
    }

    /// Whether the response has not been taken for the answer.
    var isHoldingBack: Bool { detour != nil }

    /// The redirect is not followed: its response is the answer after all. On the run.
    func takeDetourAsAnswer(within budget: TimeoutBudget) async throws(CurlewError) {
        guard let head, let detour else { return }
        self.detour = nil
        if case .abort(let error) = answer(head) { throw error }
        await untilReady()
        try await untilAnswered(within: budget)
        let disposition = detour.body.withUnsafeBytes { bytes in bytes.isEmpty ? .proceed : didReceive(body: bytes) }
        if case .abort(let error) = disposition { throw error }
    }

    // MARK: The answer

    private func answer(_ head: ResponseHead) -> Disposition {
        expected = Self.expectedLength(of: head)
        let lazy = LazyResponse(url: url, head: head)
        if let events, events.exchangeHears(.heads) {
            let (task, session) = (task, request.sessionReference)
            events.emitHead { monitor in
                guard let response = lazy.value else { return }
                monitor.urlSession(session, dataTask: task, didReceive: response)
            }
        }
        awaitedAnswer = request.headArrived(lazy, total: expected)
        if head.status == 206, let refusal = refusalOfPart(head) { return .abort(refusal) }
        let disposition = begin(head)
        if case .proceed = disposition, awaitedAnswer != nil { return .pause }
        return disposition
    }

    /// Whether the answer about the head is still to come, although there was no body to wait with.
    var isUnanswered: Bool { awaitedAnswer.map { !$0.allowsBody } ?? false }

    /// Waits for the answer about the head. On the run.
    func untilAnswered(within budget: TimeoutBudget) async throws(CurlewError) {
        guard let answer = awaitedAnswer else { return }
        awaitedAnswer = nil
        do {
            try await request.foreign(ownsTask: false, budget: budget, in: .receive) { await answer.wait() }
        } catch {
            throw (error as? CurlewError) ?? .explicitlyCancelled
        }
        if request.isCancelled { throw request.cancellation }
    }

    /// The decoded length, where the head tells it.
    private static func expectedLength(of head: ResponseHead) -> Int64 {
        guard let length = head.headers.value(for: "Content-Length").flatMap(Int64.init), length >= 0,
            !head.headers.contains(name: "Content-Encoding")
        else { return -1 }
        return length
    }

    /// The body belongs behind what is there already.
    func continues(at offset: Int64, of total: Int64) {
        received = offset
        expected = total
        request.continues(TransferCount(completed: offset, total: total))
    }

    func count(_ bytes: UnsafeRawBufferPointer) {
        countSegment(bytes, TransferCount(completed: received + Int64(bytes.count), total: expected))
    }

    /// Counts bytes of which `whole` are there by now, in this exchange and in others.
    func countSegment(_ bytes: UnsafeRawBufferPointer, _ whole: TransferCount) {
        received += Int64(bytes.count)
        show(bytes, whole)
        if let events { emit(bytes, to: events) }
    }

    /// Lets the request know about them.
    func show(_ bytes: UnsafeRawBufferPointer, _ whole: TransferCount) { request.received(whole) }

    /// Tells session monitors about body bytes.
    func emit(_ bytes: UnsafeRawBufferPointer, to events: EventSink) {
        guard events.exchangeHears(.bodies) else { return }
        let (task, session) = (task, request.sessionReference)
        events.emitBody(bytes) { data in
            { $0.urlSession(session, dataTask: task, didReceive: data) }
        }
    }
}
