internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The state of one exchange. The exchange, the run and the delegates of its bodies write it, under its lock. Questions
/// about the response (`request.response`, `data`, progress) are answered from it, until the request begins another
/// exchange.
///
/// A request holds this state and not the exchange, because the exchange refers to the request. `Request.beginExchange`
/// makes it before the run makes the `Exchange`, so that a suspended request can be cancelled before it is known what it
/// sends. The request's lock may be held while this state's lock is taken, never the other way round. A task delegate
/// may hold its own lock while it reads `lengthOfBody` (`DataTaskDelegate.receive`).
struct ExchangeState: Sendable {
    /// The progress of the exchange. An exchange that need not wait begins as `running`.
    ///
    ///             startWaiting           end       continueUnder           close
    ///     waiting ─────────────▶ running ────▶ over ─────────────▶ running ──────▶ over
    ///        └─────────────── end ──────────────▲
    ///
    /// A segmented download continues for its other segments while its delegate is being closed.
    enum Stage: Equatable {
        /// It has begun and nothing has been sent: the request is suspended, its options have to be read again, or the
        /// exchange repeats one. `isReported`: it repeats one that monitors know of.
        case waiting(isReported: Bool)
        case running
        case over
    }

    /// The receiver of the response, and at last its body.
    ///
    ///     none ─┬─▶ provisional ─┬─▶ asked ─▶ refused ─┐
    ///           └────────────────┴─────┴──▶ delegated ─┴─▶ closed
    ///
    /// Unless another exchange may follow, `asked` and `delegated` come directly after `none`. An exchange that fails,
    /// or is followed by another one, may be closed in any state.
    enum Reception {
        /// No head has arrived.
        case none
        /// The exchange keeps the response until the run has decided whether another request follows.
        case provisional(ProvisionalResponse)
        /// The user decides about the head. The transport delivers the body again later.
        case asked
        case delegated(any TaskDelegate)
        /// The delegate could not begin after the user's decision. The transport gets the error with the next bytes.
        case refused(CurlewError, by: any TaskDelegate)
        /// The body that the delegate has collected, or `.none`.
        case closed(ReceivedBody)
    }

    let id: TaskIdentifier
    var stage: Stage
    var reception = Reception.none
    /// The response that is delivered.
    private(set) var response: LazyResponse?
    /// Whether the body of a stream is delivered, because its head was accepted.
    var isHeadAccepted = false
    /// The user's decision about the head, if it was asked for.
    var decision: HeadDecision?
    /// The trailer fields as received, once a complete response has ended.
    var trailers: HTTPHeaders?
    /// Whether Curlew has ended the exchange, and not its peer.
    var wasAborted = false
    /// Whether the cookies of a WebSocket's response have been stored.
    var hasStoredCookies = false

    /// The control, from the start of the transfer to the end of the exchange.
    var relay = SuspensionRelay()

    /// The progress of the upload, which does not decrease from one exchange to the next.
    private(set) var upload: TransferCount
    /// The number of body bytes that this exchange has sent.
    private var sent: Int64 = 0
    /// The number of received bytes of the body.
    var received: Int64 = 0
    /// The length of the body. `nil` means the length that the head names.
    private var total: Int64? = 0

    init(_ id: TaskIdentifier, _ stage: Stage, uploaded: TransferCount = TransferCount()) {
        self.id = id
        self.stage = stage
        upload = uploaded
    }

    /// The identifier, if monitors have heard of the start.
    var reportedTask: TaskIdentifier? {
        switch stage {
        case .waiting(isReported: true), .running: id
        case .waiting(isReported: false), .over: nil
        }
    }

    // MARK: The response

    /// Records the head of the response that is delivered.
    mutating func headArrived(_ head: LazyResponse) {
        response = head
        (received, total) = (0, nil)
    }

    /// Replaces the status of the response that users see.
    mutating func showResponse(as status: Int) {
        guard let response else { return }
        var head = response.head
        head.status = status
        self.response = LazyResponse(url: response.url, head: head)
    }

    /// The head of a stream whose body is delivered.
    var acceptedHead: ResponseHead? { isHeadAccepted ? response?.head : nil }

    /// The head of the last response, provisional or not.
    var lastHead: ResponseHead? {
        if case .provisional(let response) = reception { response.head } else { response?.head }
    }

    /// The body, once its delegate has been closed.
    var body: ReceivedBody { if case .closed(let body) = reception { body } else { .none } }

    /// The route of the next bytes of the body.
    enum BodyRoute {
        case deliver(any TaskDelegate)
        /// They were stored with the provisional response.
        case kept
        /// The user has not decided about the head: the transport has to deliver the bytes again.
        case wait
        case refuse(CurlewError)
    }

    mutating func route(of bytes: UnsafeRawBufferPointer) -> BodyRoute {
        switch reception {
        case .delegated(let delegate): return .deliver(delegate)
        case .asked: return .wait
        case .refused(let error, _): return .refuse(error)
        case .provisional(var response):
            // Moved out of `reception` meanwhile. With two owners, appending would copy the body.
            reception = .none
            defer { reception = .provisional(response) }
            do throws(CurlewError) { try response.keep(bytes) } catch { return .refuse(error) }
            return .kept
        case .none, .closed:
            return .refuse(CurlewError(.protocolViolation, phase: .receive, reason: "a body came without a head"))
        }
    }

    // MARK: Progress

    /// The received bytes of the body, and its length.
    var download: TransferCount {
        get {
            let total = total ?? response?.head.lengthOfDecodedBody ?? 0
            return TransferCount(completed: received, total: total)
        }
        set { (received, total) = (newValue.completed, newValue.total) }
    }

    /// Counts sent bytes of the request's body. Returns how many are new, and the progress that users see. Returns
    /// `nil` if none is new, because a body that is sent again from its beginning first repeats known bytes.
    mutating func sent(_ count: TransferCount) -> (added: Int64, shown: TransferCount)? {
        guard count.completed > sent else { return nil }
        let added = count.completed - sent
        sent = count.completed
        // The progress does not decrease in a later exchange either.
        let before = min(upload.completed, count.total < 0 ? .max : count.total)
        upload = TransferCount(completed: max(count.completed, before), total: count.total)
        return (added, upload)
    }

    // MARK: The end

    /// The parts of an ended exchange that the run uses.
    struct Ending {
        let response: LazyResponse?
        /// The delegate, which has to be closed.
        let delegate: (any TaskDelegate)?
        /// The error of a delegate that could not begin.
        let refusal: CurlewError?
        /// Whether Curlew has ended the exchange, and not its peer.
        let wasAborted: Bool
    }

    /// Ends the exchange, as `end` does. Returns `nil`, and does nothing, if the run or the user still has to decide
    /// about the response, or if another thread may be carrying out the user's decision.
    mutating func endIfDecided(_ trailers: HTTPHeaders?) -> (Ending, (any TransferControl)?)? {
        switch reception {
        case .provisional, .asked: nil
        case .none, .delegated, .refused, .closed: decision == nil ? end(trailers) : nil
        }
    }

    /// Ends the exchange. Its delegate is closed next, and then the exchange, with the body. Returns the control too,
    /// to be released without the lock, because it may be a user's.
    mutating func end(_ trailers: HTTPHeaders?) -> (Ending, (any TransferControl)?) {
        stage = .over
        // The trailers of a redirect that is refused belong to no response that users see.
        if response != nil { self.trailers = trailers }
        let (delegate, refusal): ((any TaskDelegate)?, CurlewError?) =
            switch reception {
            case .delegated(let delegate): (delegate, nil)
            case .refused(let error, let delegate): (delegate, error)
            case .none, .provisional, .asked, .closed: (nil, nil)
            }
        let ending = Ending(response: response, delegate: delegate, refusal: refusal, wasAborted: wasAborted)
        return (ending, relay.attach(nil))
    }

    /// Records the body that the delegate has collected, and releases the delegate. Ends the exchange once more: a
    /// segmented download has continued it while its delegate was being closed. Returns the control and the delegate,
    /// to be released without the lock: they may be, or hold, a user's object.
    mutating func close(with body: ReceivedBody) -> ((any TransferControl)?, Reception) {
        stage = .over
        return (relay.attach(nil), exchange(&reception, with: .closed(body)))
    }

    /// Replaces the body of a closed exchange, which has been moved or removed. Returns the former one, to be released
    /// without the lock.
    mutating func replaceBody(by body: ReceivedBody) -> ReceivedBody {
        guard case .closed(let former) = reception else { return .none }
        reception = .closed(body)
        return former
    }

    /// Forgets the body, because another attempt follows. Returns it, to be released without the lock.
    mutating func forgetBody() -> ReceivedBody {
        download = TransferCount()
        return replaceBody(by: .none)
    }
}

extension ResponseHead {
    /// The length of the decoded body, or -1 if the head does not tell it.
    var lengthOfDecodedBody: Int64 {
        guard let length = headers.value(for: "Content-Length").flatMap(Int64.init), length >= 0,
            !headers.contains(name: "Content-Encoding")
        else { return -1 }
        return length
    }
}

/// The transferred and the total bytes in one direction. A total of -1 is unknown.
struct TransferCount: Sendable, Equatable {
    var completed: Int64 = 0
    var total: Int64 = 0

    /// The progress as a snapshot, which does not change later.
    var progress: Progress {
        let progress = Progress(totalUnitCount: total)
        progress.completedUnitCount = completed
        return progress
    }
}

/// The user's decision about a response's head, which the body waits for. The exchange may end before it is made.
final class HeadDecision: Sendable {
    private let isMade = Lock(false)
    private let carriedOut = OneShot<Void>()

    /// Makes the decision by carrying it out, unless it was made or has expired.
    func make(_ act: () -> Void) {
        guard isMade.withLock({ !exchange(&$0, with: true) }) else { return }
        act()
        carriedOut.resolve(())
    }

    /// Makes a later decision void, because the exchange has ended. Returns when a decision that another thread is
    /// carrying out has been carried out: otherwise its delegate could begin after the exchange was closed.
    func expire() async {
        make {}
        _ = await carriedOut.waitThroughCancellation()
    }

    /// Returns when the decision was carried out, or the waiting task is cancelled.
    func wait() async { await carriedOut.wait() }
}
