internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// What a try does before anything goes onto the wire.
extension Attempt {
    struct Prepared {
        var sent: SentRequest
        var upload: UploadRequest.Uploadable?
        /// Whether monitors know of the exchange.
        var isBegun = false
    }

    /// Everything before the wire, unless it was done ahead.
    // Inlined: see `run`.
    @inline(__always)
    func prepared(_ start: TryStart, in session: Session) async throws(CurlewError) -> Prepared {
        if let early = preparedAhead() { return try early.get() }
        let initial = try begin(start)
        // Called only where there is something to wait for.
        let adapted = start.adapters.isEmpty ? initial : try await adapt(initial, with: start.adapters, in: session)
        let ready = try ready(adapted)
        return number > 0 && request.replacesBodies ? try await replacingBody(ready) : ready
    }

    private func preparedAhead() -> Result<Prepared, CurlewError>? {
        number == 0 && request.isSetUpAhead ? request.takePreparation() : nil
    }

    /// Everything before the wire, ahead of the request's start.
    func prepare(_ start: TryStart, in session: Session) async throws(CurlewError) -> Prepared {
        let initial = try begin(start)
        return try ready(
            start.adapters.isEmpty ? initial : try await adapt(initial, with: start.adapters, in: session))
    }

    private func begin(_ start: TryStart) throws(CurlewError) -> SentRequest {
        if let cancellation = start.cancellation { throw cancellation }
        return try initialRequest(isSeen: events?.hears(.requests) == true)
    }

    private func ready(_ adapted: SentRequest) throws(CurlewError) -> Prepared {
        let upload = try request.makeUpload(events: events)
        try request.created(adapted, events)
        return Prepared(sent: adapted, upload: upload)
    }

    /// An earlier try has read what can be read only once.
    private func replacingBody(_ prepared: Prepared) async throws(CurlewError) -> Prepared {
        guard let spent = prepared.upload?.source else { return prepared }
        var prepared = prepared
        prepared.upload = UploadRequest.Uploadable(try await request.bodyToSendAgain(spent))
        return prepared
    }

    /// `isSeen`: monitors are going to look at the request, more than once.
    private func initialRequest(isSeen: Bool) throws(CurlewError) -> SentRequest {
        do {
            if !isSeen, let plain = try request.makePlainRequest() {
                request.record.withLock { $0.requests.append(plain) }
                return plain
            }
            let made = try request.makeURLRequest().withoutDotSegments
            try made.validate()
            request.record.withLock { $0.requests.append(.made(made)) }
            events?.emitLeading(.madeInitialRequest) { [request] in
                { $0.request(request, didCreateInitialURLRequest: made) }
            }
            return .made(made)
        } catch {
            let failure = ErrorWrapping.creation(error)
            events?.emitLeading { [request] in $0.request(request, didFailToCreateURLRequestWithError: failure) }
            request.creationFailed()
            throw failure
        }
    }

    private func adapt(
        _ initial: SentRequest,
        with adapters: [any RequestAdapter],
        in session: Session
    ) async throws(CurlewError) -> SentRequest {
        let given = initial.urlRequest
        let chain = AdapterChain(
            adapters: adapters,
            initial: given,
            state: RequestAdapterState(request: request, session: session)
        )
        do {
            let adapted = try await request.foreign(
                ownsTask: rules.ownsTask, budget: budget, in: .adaptation, chain
            ).withoutDotSegments
            // Many adapters have something to say now and then: what they leave alone is not read piece by piece.
            let sent = adapted.isCopy(of: given) ? initial : .made(adapted)
            if case .made = sent { try adapted.validate() }
            request.record.withLock { $0.requests.append(sent) }
            events?.emitLeading(.adaptedRequest) { [request] in
                { $0.request(request, didAdaptInitialRequest: given, to: adapted) }
            }
            return sent
        } catch {
            let timeout = (error as? CurlewError).flatMap { $0.code == .totalTimedOut ? $0 : nil }
            let failure = timeout ?? ErrorWrapping.adaptation(error)
            events?.emitLeading { [request] in
                $0.request(request, didFailToAdaptURLRequest: given, withError: failure)
            }
            throw failure
        }
    }

    func checkCancellation() throws(CurlewError) {
        if request.isCancelled { throw request.cancellation }
    }
}

/// A request's adapters, one after the other.
// SAFETY: that of `ForeignWork`.
private final class AdapterChain: ForeignWork, ForeignJob, @unchecked Sendable {
    private let adapters: [any RequestAdapter]
    private let initial: URLRequest
    private let state: RequestAdapterState
    var result: Result<URLRequest, any Error>?

    init(adapters: [any RequestAdapter], initial: URLRequest, state: RequestAdapterState) {
        self.adapters = adapters
        self.initial = initial
        self.state = state
    }

    @inline(__always)
    func work() async throws -> URLRequest {
        var adapted = initial
        // By index: an iterator would copy each of them twice.
        for index in adapters.indices { adapted = try await adapters[index].adapt(adapted, using: state) }
        return adapted
    }
}
