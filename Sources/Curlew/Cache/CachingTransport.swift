internal import CurlewCore
internal import Foundation

/// A transport that answers from a cache what it can, and asks another transport for the rest.
///
/// It stands above the network and below redirects, credentials and retries: each hop is an exchange of its own to it.
final class CachingTransport: Transport {
    let network: any Transport
    let cache: ResponseCache
    let flights = CacheFlights()
    let background: BackgroundRevalidations
    /// Whether requests carry credentials that are added below, so that none can be seen here.
    let hidesCredentials: Bool

    init(_ network: any Transport, cache: ResponseCache, hidesCredentials: Bool = false) {
        self.network = network
        self.cache = cache
        self.hidesCredentials = hidesCredentials
        background = BackgroundRevalidations(limit: cache.staleWhileRevalidateLimit)
    }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        var run = CacheRun(request, sink: sink, over: self)
        return try await run.outcome()
    }

    func shutdown() async {
        await background.close()
        await network.shutdown()
    }

    /// Ends what no request waits for.
    func drain() async { await background.close() }

    /// Waits for what no request waits for.
    func settle() async { await background.settle() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        network.enforcedGuards(of: configuration)
    }
}
