internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The facts that a delegate of any kind knows about its exchange, and its means to report to the request and to
/// monitors.
struct ExchangeContext: Sendable {
    let request: Request
    let task: TaskIdentifier
    /// The URL of the exchange.
    let url: URL
    let events: EventSink?
    /// Returns whether stored credentials can answer a challenge, which is then not delivered.
    let isAnswerable: (@Sendable (ResponseHead) -> Bool)?

    // MARK: The head

    /// Whether another exchange may follow the response.
    func mayLeadOn(_ head: ResponseHead) -> Bool {
        guard head.status >= 300 else { return false }
        if head.status == 401 {
            return request.context.configuration.decisions?.credentials != nil || isAnswerable?(head) == true
        }
        return head.status < 400 && HTTPStatus(head.status).isRedirect && head.headers.contains(name: "Location")
    }

    /// Reports the head of a response that is delivered. Returns whether the body has to wait for the user's decision.
    func answerArrived(_ head: ResponseHead) -> Bool {
        let (request, task, url) = (request, task, url)
        events?.emitExchange { $0.request(request, task: task, didReceive: head, from: url) }
        return request.headArrived(LazyResponse(url: url, head: head))
    }

    /// Returns the length of the decoded body, or -1 if the head does not tell it.
    static func expectedLength(of head: ResponseHead) -> Int64 {
        guard let length = head.headers.value(for: "Content-Length").flatMap(Int64.init), length >= 0,
            !head.headers.contains(name: "Content-Encoding")
        else { return -1 }
        return length
    }

    /// Returns the error for a 206 if the request asked for no range, or `nil` if it is acceptable. A part must not
    /// pass for the whole, and a file is complete only if the server says so.
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

    // Evaluated only for a 206.
    private var asksForRange: Bool {
        let sent = request.record.withLock { $0.history.lastRequest }
        return sent?.fields.contains { ASCII.equalsIgnoringCase($0.name, "Range") } == true
            || request.context.defaultHeaders(for: url).headers.contains(name: "Range")
    }

    /// Waits for the user's decision about the head, if one was asked for. Called by the run.
    @discardableResult
    func untilAnswered(within budget: TimeoutBudget) async throws(CurlewError) -> HeadAnswer? {
        guard let answer = request.takeHeadAnswer() else { return nil }
        do {
            try await request.foreign(ownsTask: false, budget: budget, in: .receive) { await answer.wait() }
        } catch {
            answer.expire()
            throw (error as? CurlewError) ?? .cancelled
        }
        if request.isCancelled { throw request.cancellation }
        return answer
    }

    // MARK: The body

    /// Returns the disposition of bytes that are not for the delegate, or not yet. `nil` if the delegate may take them.
    func holds(_ bytes: UnsafeRawBufferPointer) -> Disposition? {
        pass(bytes, request.record.withLock { $0.transfer.passage(of: bytes) })
    }

    /// Returns the disposition of bytes that do not go to the delegate. `nil` if they do.
    func pass(_ bytes: UnsafeRawBufferPointer, _ passage: TransferState.Passage) -> Disposition? {
        switch passage {
        case .take: return nil
        case .wait: return .pause
        case .keptBack: return .proceed
        case .tooMuchToKeepBack:
            return abort(
                CurlewError(
                    .limitExceeded, phase: .redirect,
                    reason: "a redirect's body is larger than \(HeldBackResponse.limit) bytes"))
        case .intoFile(let file, let offset):
            let disposition = file.take(bytes, at: offset)
            switch disposition {
            case .proceed:
                request.received(bytes.count)
                emit(bytes)
            case .pause: break
            case .abort(let error): return abort(error)
            }
            return disposition
        }
    }

    /// Ends the exchange with an error, on Curlew's side.
    func abort(_ error: CurlewError) -> Disposition {
        request.record.withLock { $0.transfer.wasAborted = true }
        return .abort(error)
    }

    /// Passes body bytes to the monitors of the session that want bodies.
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
