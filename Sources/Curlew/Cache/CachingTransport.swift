internal import CurlewCore
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
        let start = run.start()
        guard case .send = start else { return try await run.outcome(after: start) }
        // The path of most requests: no response is stored for them. Unless their own response is stored or concerns
        // stored ones, they wait only for the network.
        let cacheSink = CacheSink(run, requestTime: run.began)
        var outcome: TransferOutcome
        do throws(CurlewError) {
            outcome = try await context.network.perform(request, sink: cacheSink)
        } catch {
            await run.abandon(cacheSink.storage)
            throw error
        }
        if run.isOver(.miss, &outcome, cacheSink) { return outcome }
        await run.conclude(.miss, &outcome, cacheSink)
        return outcome
    }

    func shutdown() async {
        await background.close()
        await context.network.shutdown()
    }

    /// Ends the background validations.
    func drain() async { await background.close() }

    /// Waits for the background validations.
    func settle() async { await background.settle() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        context.network.enforcedGuards(of: configuration)
    }
}

/// The parts that the runs over one cache share. `BackgroundRevalidations` is not among them: its tasks hold runs, and
/// it ends its tasks when it is released with the transport.
final class CacheContext: Sendable {
    let network: any Transport
    let cache: ResponseCache
    let flights: CacheFlights
    let partitions: CachePartitions

    init(_ network: any Transport, _ cache: ResponseCache, _ partitions: CachePartitions) {
        (self.network, self.cache, self.partitions) = (network, cache, partitions)
        flights = CacheFlights(cache.invalidations)
    }
}
