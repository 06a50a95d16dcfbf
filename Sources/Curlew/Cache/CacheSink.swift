internal import CurlewCore
internal import Foundation

/// The sink between the network and a reader. It withholds responses that concern only the cache, and stores others
/// while it passes them on.
// SAFETY: ownership is handed over, as for the reader's: only the network's thread accesses it from `perform`'s start
// to its return, only the cache's task before and after.
final class CacheSink: TransferSink, @unchecked Sendable {
    /// The fate of the response.
    enum Fate {
        /// No head has arrived.
        case none
        /// The response was passed to the reader.
        case forwarded
        /// The response was withheld, because the stored one is to be served.
        case withheld(ProvisionalResponse)
    }

    private let reader: any TransferSink
    /// The control that the reader has already; `nil` if it gets the network's.
    private let delivery: ResponseDelivery?
    private let request: TransferRequest
    private let asked: CacheRequest
    private let context: CacheContext
    /// The fetch that the request leads. It ends with a head that cannot be shared.
    private let fetch: SharedFetch?
    /// Whether a head concerns the cache alone. `nil` if no stored response is being validated.
    private let withholds: ((ResponseHead) -> Bool)?
    let requestTime: Date
    /// The invalidation mark at the beginning of the request.
    private let mark: UInt64
    private var control: (any TransferControl)?
    private(set) var fate = Fate.none
    /// `nil` if the response is not stored.
    private(set) var storage: ResponseStorage?
    /// Whether the response may invalidate stored ones, as far as its head tells.
    private(set) var mayInvalidate = true
    /// Whether the fetch has ended with the head, because the response cannot be shared.
    private(set) var hasEndedFetch = false

    /// Creates the sink for the request of a run, with the run's state at this moment.
    init(_ run: borrowing CacheRun, requestTime: Date, withholds: ((ResponseHead) -> Bool)? = nil) {
        reader = run.sink
        delivery = run.delivery
        request = run.request
        asked = run.asked
        context = run.context
        fetch = run.fetch
        self.requestTime = requestTime
        mark = run.context.cache.invalidations.mark
        self.withholds = withholds
    }

    func willStart(_ control: any TransferControl) {
        self.control = control
        if let delivery { delivery.attach(control) } else { reader.willStart(control) }
    }

    func didReceive(informational head: ResponseHead) { reader.didReceive(informational: head) }

    func didReceive(head: ResponseHead) -> Disposition {
        if withholds?(head) == true {
            headArrived()
            fate = .withheld(ProvisionalResponse(head, .validation))
            return .proceed
        }
        fate = .forwarded
        let fields = ResponseCacheFields(head.headers)
        mayInvalidate = fields.mayClear
        if Storability.isStorable(head, fields, for: asked, mode: context.cache.mode),
            Variants.canTell(asked, from: head)
        {
            headArrived()
            storage = ResponseStorage(
                head,
                of: request,
                asked,
                over: context,
                requestTime: requestTime,
                mark: mark,
                fetch: fetch,
                control: control
            )
        } else if let fetch {
            context.fetches.end(fetch, for: asked, .notStored)
            fetch.claim?.giveUp()
            hasEndedFetch = true
        }
        return reader.didReceive(head: head)
    }

    private func headArrived() {
        if let fetch { context.fetches.headArrived(of: fetch, for: asked) }
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        if case .withheld(var response) = fate {
            // Without its other owner, the body is appended to in place.
            fate = .none
            defer { fate = .withheld(response) }
            do throws(CurlewError) { try response.keep(body) } catch { return .abort(error) }
            return .proceed
        }
        guard let storage, storage.isStoring else { return reader.didReceive(body: body) }
        // The store cannot keep up. Its writing task resumes the network.
        if storage.isFull { return .pause }
        let disposition = reader.didReceive(body: body)
        if case .proceed = disposition { storage.take(body) }
        return disposition
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) { reader.didSend(bodyBytes: bodyBytes, of: expected) }
}

/// Discards the response to a background validation, which has no reader.
final class BackgroundSink: TransferSink {
    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
}
