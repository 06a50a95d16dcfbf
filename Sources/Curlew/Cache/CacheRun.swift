internal import CurlewCore
internal import Foundation

/// Performs one exchange over a cache: asks the store, then serves a stored response, sends the request, or refuses it.
/// `CacheDecision` makes the decisions.
struct CacheRun: Sendable {
    let request: TransferRequest
    let cacheRequest: CacheRequest
    let sink: any TransferSink
    let context: CacheContext
    /// Starts background validations. `nil` in one, which starts no other.
    private let revalidations: BackgroundRevalidations?
    let began: Date
    /// The total timeout, which covers waits and all exchanges.
    let budget: TimeoutBudget
    /// The cache's control, once the sink has it instead of the network's.
    var delivery: ResponseDelivery?
    /// The fetch that this request leads while it is sent: others may wait for its response.
    var fetch: SharedFetch?
    /// How the fetch of another request ended; `nil` if this request has waited for none.
    var otherFetchEnd: SharedFetch.End?

    init(_ request: TransferRequest, sink: any TransferSink, over transport: CachingTransport) {
        self.request = request
        self.sink = sink
        context = transport.context
        revalidations = transport.background
        began = context.cache.clock()
        budget = Self.budget(of: request)
        cacheRequest = context.partitions.cacheRequest(request, mode: context.cache.mode)
    }

    /// A background validation of a response that was served stale to another request.
    init(inBackgroundOf run: CacheRun) {
        (request, cacheRequest, context) = (Self.unconditional(run.request), run.cacheRequest, run.context)
        sink = BackgroundSink()
        revalidations = nil
        began = context.cache.clock()
        budget = Self.budget(of: request)
    }

    var cache: ResponseCache { context.cache }
    var fetches: SharedFetches { context.fetches }
    var network: any Transport { context.network }
    /// Whether this validates, in the background, a response that was served stale to another request.
    var isInBackground: Bool { revalidations == nil }

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

    // MARK: The path

    /// The step that follows the question to the store.
    enum Step: Sendable {
        case refuse
        case serve(StoredEntry, AnswerForm, CacheStatus)
        case serveAndRevalidate(StoredEntry, AnswerForm)
        /// Send the request with these fields added, after the wait in its role among equal requests; without one, at
        /// once. A 304 confirms the stored response in `validating`.
        case send(CacheStatus, adding: [HTTPHeader], validating: StoredEntry?, after: SharedFetches.Role?)
    }

    /// Carries out the request.
    ///
    /// A response that was found may be gone when it is read, and a request that this one waits for may fail. The store
    /// is then asked again, a limited number of times.
    mutating func outcome() async throws(CurlewError) -> TransferOutcome {
        // Most requests find nothing in a store in memory. They are then sent without having waited for anything.
        var known = stepWithoutWaiting()
        if known == nil, let outcome = try await outcomeWithoutStore() { return outcome }
        for round in 0..<4 {
            let step =
                if let step = known { step } else { await nextStep(mayWait: round < 3) }
            known = nil
            switch step {
            case .refuse:
                await endFetch(.failed)
                throw notInCache
            case .serve(let stored, let form, let status):
                if let outcome = try await serve(stored, form, status) { return outcome }
            case .serveAndRevalidate(let stored, let form):
                revalidateInBackground(stored)
                if let outcome = try await serve(stored, form, .stale(.whileRevalidate)) { return outcome }
            case .send(let status, let fields, let stored, let role):
                // The wait is in SharedFetches.swift.
                if let role, try await !wait(in: role) { continue }
                return try await send(status, adding: fields, validating: stored)  // CacheRun+Sending.swift
            }
        }
        return try await send(.miss, adding: [])
    }

    /// Returns the first step if it is known without a wait: the request is plain, and the store has its entries at
    /// hand.
    private mutating func stepWithoutWaiting() -> Step? {
        guard cacheRequest.isPlain, !request.hasBody else { return nil }
        let seen = fetches.storedCount
        guard let entries = cache.entriesAtHand(for: cacheRequest.key) else { return nil }
        return step(with: entries, since: seen, mayWait: true)
    }

    /// The outcome of a request that no stored response may answer; `nil` if one may.
    private mutating func outcomeWithoutStore() async throws(CurlewError) -> TransferOutcome? {
        let early = CacheDecision(beforeLookup: cacheRequest, hasBody: request.hasBody)
        if case .refuse? = early { throw notInCache }
        guard !request.hasBody else { return try await pass(.bypassed(.method)) }
        guard case .send(let status, let fields)? = early else { return nil }
        return try await send(status, adding: fields)
    }

    /// Asks the store, and decides about what it has.
    private mutating func nextStep(mayWait: Bool) async -> Step {
        let seen = fetches.storedCount
        let entries =
            if let entries = cache.entriesAtHand(for: cacheRequest.key) { entries } else {
                await cache.store.entries(for: cacheRequest.key)
            }
        return step(with: entries, since: seen, mayWait: mayWait)
    }

    /// Decides about stored responses. A request that has to be sent takes its place among others.
    private mutating func step(with entries: [StoredEntry], since seen: UInt64, mayWait: Bool) -> Step {
        // Most requests find nothing, and a plain one needs no other decision.
        if entries.isEmpty, cacheRequest.isPlain {
            return .send(.miss, adding: [], validating: nil, after: roleToWaitIn(since: seen, mayWait: mayWait))
        }
        switch decision(entries) {
        case .refuse: return .refuse
        case .serve(let stored, let form, let status):
            let isCollapsed = status == .hit && otherFetchEnd == .stored
            return .serve(stored, form, isCollapsed ? .collapsed : status)
        case .serveAndRevalidate(let stored, let form): return .serveAndRevalidate(stored, form)
        case .validate(let stored, let fields):
            // The server has just failed for another request.
            if otherFetchEnd == .failed, allowsOnFailure(stored) { return .serve(stored, .whole, .stale(.ifError)) }
            let role = roleToWaitIn(since: seen, mayWait: mayWait)
            return .send(.miss, adding: fields, validating: stored, after: role)
        case .send(let status, let fields):
            return .send(status, adding: fields, validating: nil, after: roleToWaitIn(since: seen, mayWait: mayWait))
        }
    }

    private func decision(_ entries: [StoredEntry]) -> CacheDecision {
        let found = entries.isEmpty ? nil : Variants.select(entries, for: cacheRequest, digest: CacheDigest.name)
        return CacheDecision(
            for: cacheRequest, found: found, mode: cache.mode, now: found == nil ? began : cache.clock())
    }

    private var notInCache: CurlewError {
        CurlewError(.notInCache, phase: .creation, reason: "no stored response may be used", url: request.url)
    }

    private func revalidateInBackground(_ stored: StoredEntry) {
        guard let revalidations else { return }
        let validation = CacheRun(inBackgroundOf: self)
        revalidations.start(cacheRequest.key) {
            var validation = validation
            let fields = Validators(stored.entry.response.head.headers).conditions
            // No request waits for the validation. If it fails, the stored response stays as it is.
            _ = try? await validation.send(.miss, adding: fields, validating: stored)
        }
    }

    func allowsOnFailure(_ stored: StoredEntry) -> Bool {
        CacheDecision.allowsOnFailure(stored.entry.response, for: cacheRequest, mode: cache.mode, now: cache.clock())
    }

    /// Returns the cache's control. The first call gives it to the sink, in place of the network's.
    mutating func ownDelivery() -> ResponseDelivery {
        if let delivery { return delivery }
        let made = ResponseDelivery()
        delivery = made
        sink.willStart(made)
        return made
    }
}

extension CacheRun {
    /// Delivers a stored response to the sink. Returns `nil`, and delivers nothing, if its body is gone. `validation`
    /// is the server's response to a validation, if there was one.
    mutating func serve(
        _ stored: StoredEntry,
        _ form: AnswerForm,
        _ status: CacheStatus,
        validation: TransferOutcome? = nil
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
        let bytes: Int64
        do throws(CurlewError) { bytes = try await deliver(head, reader) } catch {
            throw deliveryFailed(error, status, validation)
        }
        cache.count(status, bytes: bytes)
        // Cookies of a validation are for the session, and not for later readers of the stored response.
        for field in validation?.head.headers ?? [:] where ASCII.equalsIgnoringCase(field.name, "Set-Cookie") {
            head.headers.append(field)
        }
        var metrics = validation?.metrics ?? TransferMetrics(queued: began, ended: began)
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

    /// Returns an error of the delivery of a stored response. It does not count against the server, whose validation was
    /// successful if there was one.
    private func deliveryFailed(
        _ error: CurlewError, _ status: CacheStatus, _ validation: TransferOutcome?
    ) -> CurlewError {
        var error = withoutExchange(error, status)
        guard let validation else { return error }
        var metrics = validation.metrics
        metrics.cacheStatus = status
        metrics.exchangeBehindStored = .init(head: validation.head, validation.metrics)
        error.metrics = metrics
        return error
    }

    /// Returns an error of a request that was not sent, with metrics that say so: it does not count against the server.
    func withoutExchange(_ error: CurlewError, _ status: CacheStatus) -> CurlewError {
        var (error, metrics) = (error, TransferMetrics(queued: began, ended: max(began, cache.clock())))
        metrics.cacheStatus = status
        error.metrics = metrics
        return error
    }

    /// Delivers a response to the reader, at the reader's speed. Returns the number of bytes in the body.
    mutating func deliver(
        _ head: ResponseHead,
        _ reader: (any CacheReader)?
    ) async throws(CurlewError) -> Int64 {
        let (delivery, sink, limit) = (ownDelivery(), sink, request.options.maximumBodySize)
        let deadline = budget.remaining.map { ContinuousClock.now.advanced(by: $0) }
        let result: Result<Int64, CurlewError> = await withTaskCancellationHandler {
            do throws(CurlewError) {
                let size = try await delivery.deliver(head, to: sink, limit: limit, deadline: deadline) {
                    () async throws(CurlewError) -> Data? in try await reader?.next()
                }
                return .success(size)
            } catch {
                return .failure(error)
            }
        } onCancel: {
            delivery.cancel(with: CurlewError(.cancelled, phase: .receive))
        }
        return try result.get()
    }
}
