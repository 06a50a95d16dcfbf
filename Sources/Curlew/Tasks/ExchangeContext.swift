internal import CurlewCore
internal import CurlewFailures
internal import CurlewLocks
internal import Foundation

/// What a delegate knows of its exchange from the beginning, and how it tells its request and monitors about it. The same for
/// every kind.
struct ExchangeContext: Sendable {
    let request: Request
    let task: TaskIdentifier
    /// Where the exchange goes.
    let url: URL
    let events: EventSink?
    /// Whether the run has credentials for this response, so that it is not the answer yet.
    let isAnswerable: (@Sendable (ResponseHead) -> Bool)?

    // MARK: The head

    /// Whether the response may be a step on the way to the answer.
    func mayLeadOn(_ head: ResponseHead) -> Bool {
        guard head.status >= 300 else { return false }
        if head.status == 401 {
            return request.context.configuration.decisions?.credentials != nil || isAnswerable?(head) == true
        }
        return head.status < 400 && HTTPStatus(head.status).isRedirect && head.headers.contains(name: "Location")
    }

    /// Whether the body has to wait, because a user was asked about the head.
    func answerArrived(_ head: ResponseHead) -> Bool {
        let (request, task, url) = (request, task, url)
        events?.emitExchange { $0.request(request, task: task, didReceive: head, from: url) }
        return request.headArrived(LazyResponse(url: url, head: head))
    }

    /// The decoded length, where the head tells it, else -1.
    static func expectedLength(of head: ResponseHead) -> Int64 {
        guard let length = head.headers.value(for: "Content-Length").flatMap(Int64.init), length >= 0,
            !head.headers.contains(name: "Content-Encoding")
        else { return -1 }
        return length
    }

    /// Why a 206 is no answer to a request that asked for no range; nil where it is one. A part must not pass for the whole,
    /// and a file is only whole where the server says so.
    func refusal(ofPart head: ResponseHead) -> CurlewError? {
        guard !asksForRange else { return nil }
        switch UnaskedPart(head.headers) {
        case .whole: return nil
        case .unsaid where request.purpose != .file: return nil
        case .part, .unsaid:
            let said = head.headers.value(for: "Content-Range") ?? "no Content-Range"
            return CurlewError(
                .protocolViolation,
                phase: .receive,
                reason: "the server sent a part that was not asked for (206, \(said))"
            )
        }
    }

    // Looked up when there is such a response: nearly all requests get none.
    private var asksForRange: Bool {
        let sent = request.record.withLock { $0.history.lastRequest }
        return sent?.fields.contains { ASCII.equalsIgnoringCase($0.name, "Range") } == true
            || request.context.defaultHeaders(for: url).headers.contains(name: "Range")
    }

    /// Waits for the answer about the head, if a user was asked. On the run.
    @discardableResult
    func untilAnswered(within budget: TimeoutBudget) async throws(CurlewError) -> HeadAnswer? {
        guard let answer = request.takeHeadAnswer() else { return nil }
        do {
            try await request.foreign(ownsTask: false, budget: budget, in: .receive) { await answer.wait() }
        } catch {
            throw (error as? CurlewError) ?? .explicitlyCancelled
        }
        if request.isCancelled { throw request.cancellation }
        return answer
    }

    // MARK: The body

    /// What is to be answered about bytes that are not the answer's, or not yet; nil where they may be taken.
    func holds(_ bytes: UnsafeRawBufferPointer) -> Disposition? {
        switch request.record.withLock({ $0.transfer.passage(of: bytes) }) {
        case .take, .intoFile: nil
        case .wait: .pause
        case .keptBack: .proceed
        case .tooMuchToKeepBack: tooMuchToKeepBack()
        }
    }

    func tooMuchToKeepBack() -> Disposition {
        abort(
            CurlewError(
                .limitExceeded, phase: .redirect,
                reason: "a redirect's body is larger than \(HeldBackResponse.limit) bytes"))
    }

    /// Ends the exchange from here.
    func abort(_ error: CurlewError) -> Disposition {
        request.record.withLock { $0.transfer.wasAborted = true }
        return .abort(error)
    }

    /// Tells session monitors about body bytes.
    func emit(_ bytes: UnsafeRawBufferPointer) {
        let (request, task) = (request, task)
        events?.emitBody(bytes) { $0.request(request, task: task, didReceive: $1) }
    }

    func sent(_ count: TransferCount) {
        guard let news = request.sent(count), let events else { return }
        let (request, task) = (request, task)
        events.emitPiece {
            $0.request(
                request,
                task: task,
                didSendBodyData: news,
                totalBytesSent: count.completed,
                totalBytesExpectedToSend: count.total
            )
        }
    }
}
