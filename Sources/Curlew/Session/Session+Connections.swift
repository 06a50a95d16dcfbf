public import CurlewCore
internal import Foundation

// The connections that the requests of a session share.
extension Session {
    /// The connections of the session at this moment, by origin.
    ///
    ///     let pool = await session.connections.totals
    ///     print("\(pool.inUse) of \(pool.open) connections in use, \(pool.waiting) requests wait")
    ///
    /// Cheap enough to be asked every second. Empty for a transport that is no ``PoolingTransport``.
    public nonisolated var connections: ConnectionSnapshot {
        get async { await transport.pooledConnections }
    }

    /// Opens connections to a server in advance, so that the next requests need not wait for DNS, TCP and TLS. Nothing
    /// is sent.
    ///
    ///     try await session.prewarm("https://api.example.com")
    ///
    /// When it returns, at least `count` connections are open, up to `maximumConnectionsPerHost`; idle ones that were
    /// open before count. A server that speaks HTTP/2 or HTTP/3 gets one. The connections follow the settings of the
    /// session: HSTS, proxy, trust evaluation, timeouts. Adapters, retriers and monitors are not involved.
    ///
    /// Throws what a request would throw if no connection can be made, and `.unsupported` if the transport or the
    /// running libcurl cannot open connections in advance. A cancelled task throws `.cancelled`; connections that are up
    /// by then stay open.
    public nonisolated func prewarm(
        _ convertible: any URLConvertible, connections count: Int = 1
    ) async throws(CurlewError) {
        try checkTakesRequests()
        let url: URL
        do {
            url = try convertible.asURL().absolute(against: context.baseURL)
        } catch {
            throw ErrorWrapping.creation(error)
        }
        let lowering = Lowering(context: context, own: nil, purpose: .memory)
        let request = try lowering.lower(
            .plain(url: url, method: .get, fields: []), body: nil, task: TaskIdentifier(rawValue: 0), attempt: 0,
            remaining: configuration.timeouts.total)
        try await transport.prewarmPool(for: request, connections: count)
    }
}
