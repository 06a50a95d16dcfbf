internal import CurlewCore
internal import Foundation

/// Stands between the network and a reader: keeps back what only concerns the cache, stores what goes by.
// SAFETY: ownership is handed over, as for the reader's: the network's thread alone touches it from `perform`'s start to its
// return, the cache's task before and after.
final class CacheSink: TransferSink, @unchecked Sendable {
    /// What became of the response.
    enum Fate {
        /// No head has come.
        case none
        /// It went to the reader.
        case forwarded
        /// It was kept back: the stored response is to be served.
        case withheld(ResponseHead)
    }

    private let reader: any TransferSink
    /// The control that the reader has already; nil where it gets the network's own.
    private let exchange: CacheExchange?
    private let request: TransferRequest
    private let asked: CacheRequest
    private let context: CacheContext
    /// What others may wait for; told once whether the response may be theirs.
    private let flight: CacheFlight?
    /// Whether a head concerns the cache alone. nil where none does, because no stored response is being validated.
    private let withholds: ((ResponseHead) -> Bool)?
    let requestTime: Date
    /// What was made out of date before the request was sent.
    private let mark: UInt64
    private var control: (any TransferControl)?
    private(set) var fate = Fate.none
    /// nil where there is nothing to store.
    private(set) var storage: ResponseStorage?
    private var withheldBytes = 0
    /// Whether the response may make stored ones out of date, as far as its head tells.
    private(set) var mayInvalidate = true
    /// Whether others know already that the response is not for them.
    private(set) var hasLanded = false

    /// More than any explanation of an error.
    private static let withheldLimit = 1024 * 1024

    /// Of the request of a run, as that stands now.
    init(_ run: borrowing CacheRun, requestTime: Date, withholds: ((ResponseHead) -> Bool)? = nil) {
        reader = run.sink
        exchange = run.exchange
        request = run.request
        asked = run.asked
        context = run.context
        flight = run.flight
        self.requestTime = requestTime
        mark = run.context.cache.invalidations.mark
        self.withholds = withholds
    }

    func willStart(_ control: any TransferControl) {
        self.control = control
        if let exchange { exchange.attach(control) } else { reader.willStart(control) }
    }

    func didReceive(informational head: ResponseHead) { reader.didReceive(informational: head) }

    func didReceive(head: ResponseHead) -> Disposition {
        if withholds?(head) == true {
            headCame()
            fate = .withheld(head)
            return .proceed
        }
        fate = .forwarded
        let fields = ResponseCacheFields(head.headers)
        mayInvalidate = fields.mayClear
        if Storability.isStorable(head, fields, for: asked, mode: context.cache.mode),
            Variants.canTell(asked, from: head)
        {
            headCame()
            storage = ResponseStorage(
                head,
                of: request,
                asked,
                over: context,
                requestTime: requestTime,
                mark: mark,
                flight: flight,
                control: control
            )
        } else if let flight {
            context.flights.land(flight, for: asked, .notStored)
            flight.claim?.giveUp()
            hasLanded = true
        }
        return reader.didReceive(head: head)
    }

    private func headCame() {
        if let flight { context.flights.headCame(of: flight, for: asked) }
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        if case .withheld = fate {
            withheldBytes += body.count
            let isTooMuch = withheldBytes > Self.withheldLimit
            guard isTooMuch else { return .proceed }
            let reason = "the body of a response that is not passed on is larger than \(Self.withheldLimit) bytes"
            return .abort(CurlewError(.limitExceeded, phase: .receive, reason: reason))
        }
        guard let storage, storage.isStoring else { return reader.didReceive(body: body) }
        // The store is behind: it will let the network go on.
        if storage.isFull { return .pause }
        let disposition = reader.didReceive(body: body)
        if case .proceed = disposition { storage.take(body) }
        return disposition
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) { reader.didSend(bodyBytes: bodyBytes, of: expected) }
}

/// Reads nothing: a stored response is being validated, and no request waits for it.
final class BackgroundSink: TransferSink {
    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
}
