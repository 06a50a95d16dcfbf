internal import CurlewCore
internal import Foundation

/// Carries out one exchange over a cache. This page is the way of every request through it; what is decided on the way
/// is `CacheDecision`'s.
struct CacheRun: Sendable {
    let request: TransferRequest
    let asked: CacheRequest
    let sink: any TransferSink
    let context: CacheContext
    /// nil in a validation that nothing waits for.
    private let background: BackgroundRevalidations?
    let began: Date
    /// The total clock, which runs through waits and several exchanges.
    let budget: TimeoutBudget
    /// What the sink has as its control, once that is one of the cache's own.
    var exchange: CacheExchange?
    /// The flight that this request leads: others may wait for its response.
    var flight: CacheFlight?
    /// How the flight ended that this request has waited for.
    var awaited: CacheFlight.End?

    init(_ request: TransferRequest, sink: any TransferSink, over transport: CachingTransport) {
        self.request = request
        self.sink = sink
        context = transport.context
        background = transport.background
        began = context.cache.clock()
        budget = Self.budget(of: request)
        asked = context.partitions.cacheRequest(request, mode: context.cache.mode)
    }

    /// The validation of what another request was served stale.
    init(inBackgroundOf run: CacheRun) {
        (request, asked, context) = (Self.unconditional(run.request), run.asked, run.context)
        sink = BackgroundSink()
        background = nil
        began = context.cache.clock()
        budget = Self.budget(of: request)
    }

    var cache: ResponseCache { context.cache }
    var flights: CacheFlights { context.flights }
    var network: any Transport { context.network }
    var isInBackground: Bool { background == nil }

    /// The request without its caller's conditions, and for the whole: the validation has a condition of its own.
    private static func unconditional(_ request: TransferRequest) -> TransferRequest {
        let names = ["If-None-Match", "If-Modified-Since", "Range", "If-Range"]
        var headers = request.effectiveHeaders
        guard names.contains(where: { headers.contains(name: $0) }) else { return request }
        for name in names { headers.remove(name: name) }
        var bare = request
        bare.headers = headers
        // All are among those already, and one of them may be among these.
        bare.defaultHeaders = nil
        return bare
    }

    private static func budget(of request: TransferRequest) -> TimeoutBudget {
        request.options.timeouts.total.map { TimeoutBudget(total: $0, started: .now) } ?? .unlimited
    }

    /// How a request begins, as far as nothing has to be waited for.
    enum Start: Sendable {
        /// Nothing is decided: the request has wishes of its own, or the store has to be waited for.
        case open
        case decided(CacheDecision, since: UInt64)
        /// Nothing is stored for it. It is to be sent as it is, in its place among others.
        case placed(Place)
        /// The same, now.
        case send
    }

    mutating func start() -> Start {
        guard asked.isPlain, !request.hasBody else { return .open }
        let mark = flights.landings
        guard let entries = cache.entriesAtHand(for: asked.key) else { return .open }
        guard entries.isEmpty else { return .decided(decision(entries), since: mark) }
        let place = place(since: mark, mayWait: true)  // CacheRun+Collapsing.swift
        return place.isFree ? .send : .placed(place)
    }

    private func decision(_ entries: [StoredEntry]) -> CacheDecision {
        let found = entries.isEmpty ? nil : Variants.select(entries, for: asked, digest: CacheDigest.name)
        return CacheDecision(for: asked, found: found, mode: cache.mode, now: found == nil ? began : cache.clock())
    }

    mutating func outcome(after start: Start) async throws(CurlewError) -> TransferOutcome {
        var rounds = 1..<4
        switch start {
        case .open:
            let early = CacheDecision(beforeLookup: asked, hasBody: request.hasBody)
            if case .refuse? = early { throw notInCache }
            guard !request.hasBody else { return try await pass(.bypassed(.method)) }
            if case .send(let status, let fields)? = early {
                return try await send(status, adding: fields)  // CacheRun+Sending.swift
            }
            rounds = 0..<4
        case .decided(let decision, let mark):
            if let outcome = try await carryOut(decision, since: mark, mayWait: true) { return outcome }
        case .placed(let place):
            if try await takesOff(from: place) { return try await send(.miss, adding: []) }
        case .send: return try await send(.miss, adding: [])
        }
        // What was found may be gone, and a request that this one waits for may fail. Then all is as at the beginning, but
        // not for ever.
        for round in rounds {
            let mark = flights.landings
            let entries =
                if let entries = cache.entriesAtHand(for: asked.key) { entries } else {
                    await cache.store.entries(for: asked.key)
                }
            if let outcome = try await carryOut(decision(entries), since: mark, mayWait: round < 3) { return outcome }
        }
        return try await send(.miss, adding: [])
    }

    /// nil where the store has to be asked again.
    private mutating func carryOut(
        _ decision: CacheDecision,
        since mark: UInt64,
        mayWait: Bool
    ) async throws(CurlewError) -> TransferOutcome? {
        switch decision {
        case .refuse:
            await land(.failed)
            throw notInCache
        case .serve(let stored, let form, let status):
            let isCollapsed = status == .hit && awaited == .stored
            return try await serve(stored, form, isCollapsed ? .collapsed : status)  // CacheRun+Serving.swift
        case .serveAndRevalidate(let stored, let form):
            revalidateInBackground(stored)
            return try await serve(stored, form, .stale(.whileRevalidate))
        case .validate(let stored, let fields):
            // The server has just failed for another request.
            if awaited == .failed, allowsOnFailure(stored) { return try await serve(stored, .whole, .stale(.ifError)) }
            let place = place(since: mark, mayWait: mayWait)  // CacheRun+Collapsing.swift
            if !place.isFree, try await !takesOff(from: place) { return nil }
            return try await send(.miss, adding: fields, validating: stored)
        case .send(let status, let fields):
            let place = place(since: mark, mayWait: mayWait)
            if !place.isFree, try await !takesOff(from: place) { return nil }
            return try await send(status, adding: fields)
        }
    }

    private var notInCache: CurlewError {
        CurlewError(.notInCache, phase: .creation, reason: "no stored response may be used", url: request.url)
    }

    private func revalidateInBackground(_ stored: StoredEntry) {
        guard let background else { return }
        let validation = CacheRun(inBackgroundOf: self)
        background.start(asked.key) {
            var validation = validation
            let fields = Validators(stored.entry.response.head.headers).conditions
            // Nothing waits for it: a failure leaves what is stored as it is.
            _ = try? await validation.send(.miss, adding: fields, validating: stored)
        }
    }

    func allowsOnFailure(_ stored: StoredEntry) -> Bool {
        CacheDecision.allowsOnFailure(stored.entry.response, for: asked, mode: cache.mode, now: cache.clock())
    }

    /// The control by which the sink controls an exchange that is not the network's alone.
    mutating func ownExchange() -> CacheExchange {
        if let exchange { return exchange }
        let made = CacheExchange()
        exchange = made
        sink.willStart(made)
        return made
    }
}
