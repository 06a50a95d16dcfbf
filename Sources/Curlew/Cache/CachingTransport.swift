internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A transport that answers from a cache if possible, and asks another transport otherwise.
///
/// It is above the network and below redirects, credentials and retries, so each request of these is a separate
/// exchange.
final class CachingTransport: Transport {
    let context: CacheContext
    let background: BackgroundRevalidations

    init(_ network: any Transport, cache: ResponseCache, partitions: CachePartitions) {
        context = CacheContext(network, cache, partitions)
        background = BackgroundRevalidations(limit: cache.staleWhileRevalidateLimit)
    }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        var run = CacheRun(request, sink: sink, over: self)
        return try await run.outcome()
    }

    func shutdown() async {
        await background.close()
        await context.network.shutdown()
    }

    /// Ends the background validations.
    func drain() async { await background.close() }

    /// Waits for the background validations.
    func untilIdle() async { await background.untilIdle() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        context.network.enforcedGuards(of: configuration)
    }
}

extension CachingTransport: PoolingTransport {
    var connections: ConnectionSnapshot {
        get async { await context.network.pooledConnections }
    }

    func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError) {
        try await context.network.prewarmPool(for: request, connections: count)
    }
}

/// The parts that the runs over one cache share. `BackgroundRevalidations` is not among them: its tasks hold runs,
/// which would keep it alive, but it has to be released with the transport to end those tasks.
final class CacheContext: Sendable {
    let network: any Transport
    let cache: ResponseCache
    let fetches: SharedFetches
    let partitions: CachePartitions

    init(_ network: any Transport, _ cache: ResponseCache, _ partitions: CachePartitions) {
        (self.network, self.cache, self.partitions) = (network, cache, partitions)
        fetches = SharedFetches(cache.invalidations)
    }
}

extension Session {
    /// Waits for the background validations. Called by tests.
    package nonisolated func untilCacheIsIdle() async { await (transport as? CachingTransport)?.untilIdle() }
}

/// Validates stored responses that were served stale, in the background.
///
/// A validation is an unstructured task, because no request waits for it. The session owns the tasks, a limited number
/// at a time and one per key, and ends them when it drains or is invalidated.
final class BackgroundRevalidations: Sendable {
    private struct State: Sendable {
        var running: [CacheKey: Task<Void, Never>] = [:]
        /// Starts whose work has not ended, by key, even if their tasks are not in `running` yet. Every start has a
        /// unique number: if a starter is delayed between `begin` and `keep`, its work may end, and the next start of
        /// the key may begin, before it continues.
        var begun: [CacheKey: Int] = [:]
        var starts = 0
        var isClosed = false
    }

    private let state = Lock(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    deinit { for task in state.withLock({ Array($0.running.values) }) { task.cancel() } }

    /// Starts the work, unless the limit is reached or the key's previous work has not ended.
    func start(_ key: CacheKey, _ work: @escaping @Sendable () async -> Void) {
        guard let number = begin(key) else { return }
        let task = Task { [weak self] in
            await UserCode.call(by: .revalidation, work)
            self?.ended(key, number)
        }
        keep(task, key, number)
    }

    /// Reserves a start and returns its number; `nil` if the limit is reached or the key's previous work has not ended.
    func begin(_ key: CacheKey) -> Int? {
        state.withLock { state -> Int? in
            guard !state.isClosed, state.begun.count < limit, state.begun[key] == nil else { return nil }
            state.starts += 1
            state.begun[key] = state.starts
            return state.starts
        }
    }

    /// Stores the task of a start, unless its work has ended. Cancels it if `close` was called first.
    func keep(_ task: Task<Void, Never>, _ key: CacheKey, _ number: Int) {
        let isTooLate = state.withLock { state in
            if state.begun[key] == number { state.running[key] = task }
            return state.isClosed
        }
        if isTooLate { task.cancel() }
    }

    func ended(_ key: CacheKey, _ number: Int) {
        _ = state.withLock { state -> Task<Void, Never>? in
            guard state.begun[key] == number else { return nil }
            state.begun[key] = nil
            return state.running.removeValue(forKey: key)
        }
    }

    /// Waits for the running validations.
    func untilIdle() async {
        for task in state.withLock({ Array($0.running.values) }) { await task.value }
    }

    /// Ends the running validations, and starts no more. User code that a validation calls may end the session. That
    /// call does not wait for the validations, which cannot end before the code has returned.
    func close() async {
        let tasks = state.withLock { state in
            state.isClosed = true
            return Array(state.running.values)
        }
        for task in tasks { task.cancel() }
        if UserCode.isInRevalidation { return }
        for task in tasks { await task.value }
    }
}
