internal import CurlewCore
internal import Foundation

/// A transport that answers from a cache what it can, and asks another transport for the rest.
///
/// It stands above the network and below redirects, credentials and retries: each hop is an exchange of its own to it.
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
        // The way of most requests: nothing was found for them, and nothing of their responses is stored. They wait for
        // the network alone.
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

    /// Ends what no request waits for.
    func drain() async { await background.close() }

    /// Waits for what no request waits for.
    func settle() async { await background.settle() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        context.network.enforcedGuards(of: configuration)
    }
}

/// What the runs over one cache share. Not the revalidations: a run behind its readers' backs must not keep them alive, since
/// they end it when they go with their transport.
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
