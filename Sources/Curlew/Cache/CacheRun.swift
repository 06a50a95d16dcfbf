internal import CurlewCore
internal import Foundation

/// Performs one exchange over a cache. Every request follows the path in this file; `CacheDecision` makes the
/// decisions.
struct CacheRun: Sendable {
    let request: TransferRequest
    let asked: CacheRequest
    let sink: any TransferSink
    let context: CacheContext
    /// `nil` in a background validation.
    private let background: BackgroundRevalidations?
    let began: Date
    /// The total timeout, which covers waits and all exchanges.
    let budget: TimeoutBudget
    /// The control that the sink has, if it is the cache's and not the network's.
    var exchange: ResponseDelivery?
    /// The flight that this request leads: others may wait for its response.
    var flight: CacheFlight?
    /// The end of the flight that this request has waited for.
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

    /// A background validation of a response that was served stale to another request.
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

    /// The request without its caller's conditions and range. The validation adds a condition.
    private static func unconditional(_ request: TransferRequest) -> TransferRequest {
        let names = ["If-None-Match", "If-Modified-Since", "Range", "If-Range"]
        var headers = request.effectiveHeaders
        guard names.contains(where: { headers.contains(name: $0) }) else { return request }
        for name in names { headers.remove(name: name) }
        var bare = request
        bare.headers = headers
        // `headers` contains the default fields already, except for those that were removed.
        bare.defaultHeaders = nil
        return bare
    }

    private static func budget(of request: TransferRequest) -> TimeoutBudget {
        request.options.timeouts.total.map { TimeoutBudget(total: $0, started: .now) } ?? .unlimited
    }

    /// The first step of a request, as far as it needs no wait.
    enum Start: Sendable {
        /// Undecided: the request is not plain or has a body, or the store has to be waited for.
        case open
        case decided(CacheDecision, since: UInt64)
        /// No response is stored for the request. It has to wait for its place among others.
        case placed(Place)
        /// No response is stored for the request. It can be sent at once.
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
        // A response that was found may be gone when it is read, and a request that this one waits for may fail. The
        // run then starts over, a limited number of times.
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

    /// `nil` if the store has to be asked again.
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
            return try await serve(stored, form, isCollapsed ? .collapsed : status)
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
            // No request waits for the validation. If it fails, the stored response stays as it is.
            _ = try? await validation.send(.miss, adding: fields, validating: stored)
        }
    }

    func allowsOnFailure(_ stored: StoredEntry) -> Bool {
        CacheDecision.allowsOnFailure(stored.entry.response, for: asked, mode: cache.mode, now: cache.clock())
    }

    /// Returns the cache's control. The first call gives it to the sink, in place of the network's.
    mutating func ownExchange() -> ResponseDelivery {
        if let exchange { return exchange }
        let made = ResponseDelivery()
        exchange = made
        sink.willStart(made)
        return made
    }
}

extension CacheRun {
    /// Delivers a stored response to the sink. `nil` if its body is gone, in which case nothing has been delivered.
    /// `news` is the server's response to a validation, if there was one.
    mutating func serve(
        _ stored: StoredEntry,
        _ form: AnswerForm,
        _ status: CacheStatus,
        news: TransferOutcome? = nil
    ) async throws(CurlewError) -> TransferOutcome? {
        let size = stored.body.size
        var reader: (any CacheReader)?
        if let range = form.bytes(ofBody: size) {
            reader = await stored.body.reader(of: range)
            // A store removes damaged entries itself. An entry whose body it was too slow to read remains.
            guard reader != nil else { return nil }
        }
        let response = stored.entry.response
        let age = Freshness(response, mode: cache.mode).age(at: cache.clock())
        var head = form.head(of: response, age: age, bodySize: size)
        let bytes = try await deliver(head, reader)
        cache.count(status, bytes: bytes)
        // Cookies of a validation are for the session, and not for later readers of the stored response.
        for field in news?.head.headers ?? [:] where ASCII.equalsIgnoringCase(field.name, "Set-Cookie") {
            head.headers.append(field)
        }
        var metrics = news?.metrics ?? TransferMetrics(queued: began, ended: began)
        let ended = cache.clock()
        let attempt = request.attempt
        metrics.update {
            $0.ended = max(began, ended)
            $0.decodedBytesReceived = bytes
            $0.attempt = attempt
        }
        metrics.cacheStatus = status
        return TransferOutcome(head: head, metrics: metrics)
    }

    /// Delivers a response to the reader, at the reader's speed. Returns the number of bytes in the body.
    mutating func deliver(
        _ head: ResponseHead,
        _ reader: (any CacheReader)?
    ) async throws(CurlewError) -> Int64 {
        let (exchange, sink, limit) = (ownExchange(), sink, request.options.maximumBodySize)
        let deadline = budget.remaining.map { ContinuousClock.now.advanced(by: $0) }
        let result: Result<Int64, CurlewError> = await withTaskCancellationHandler {
            do throws(CurlewError) {
                let size = try await exchange.deliver(head, to: sink, limit: limit, deadline: deadline) {
                    () async throws(CurlewError) -> Data? in try await reader?.next()
                }
                return .success(size)
            } catch {
                return .failure(error)
            }
        } onCancel: {
            exchange.cancel(with: CurlewError(.cancelled, phase: .receive))
        }
        return try result.get()
    }
}
