public import Curlew
public import Metrics
internal import Synchronization

/// Records the connections of a session with swift-metrics.
///
///     let connections = ConnectionMetrics(of: session)
///     try await connections.run(every: .seconds(15))     // until its task is cancelled
///
/// | metric | kind | what it measures |
/// |---|---|---|
/// | `http.client.open_connections` | meter | the connections; `http.connection.state` is `active` or `idle` |
/// | `curlew.client.opening_connections` | meter | the connections that are being established |
/// | `curlew.client.waiting_requests` | meter | the requests that wait for a connection |
///
/// Their dimensions are `server.address` and `server.port` of `MetricLabels`.
public final class ConnectionMetrics: Sendable {
    private let session: Session
    private let labels: MetricLabels
    private let instruments: Instruments
    /// The dimensions of the origins that were recorded last.
    private let recorded = Mutex<Set<[Dimension]>>([])

    /// Creates the recorder of a session's connections. It keeps the session alive.
    public init(
        of session: Session, factory: any MetricsFactory = MetricsSystem.factory, labels: MetricLabels = MetricLabels()
    ) {
        self.session = session
        self.labels = labels
        instruments = Instruments(factory)
    }

    /// Records the connections at this moment. Origins whose connections have all closed are recorded as 0.
    public func record() async {
        let snapshot = await session.connections
        var pools: [[Dimension]: ConnectionSnapshot.Pool] = [:]
        for (origin, pool) in snapshot.origins {
            // Several origins may have one label.
            let labels = labels.server(origin)
            var sum = pools[labels] ?? ConnectionSnapshot.Pool()
            sum.open += pool.open
            sum.inUse += pool.inUse
            sum.opening += pool.opening
            sum.waiting += pool.waiting
            pools[labels] = sum
        }
        let current = Set(pools.keys)
        let gone = recorded.withLock { recorded in
            let gone = recorded.subtracting(current)
            recorded = current
            return gone
        }
        for labels in gone { pools[labels] = ConnectionSnapshot.Pool() }
        for (labels, pool) in pools {
            let (active, idle) = (
                Dimension("http.connection.state", "active"), Dimension("http.connection.state", "idle")
            )
            instruments.meter("http.client.open_connections", labels + [active]).set(pool.inUse)
            instruments.meter("http.client.open_connections", labels + [idle]).set(pool.idle)
            instruments.meter("curlew.client.opening_connections", labels).set(pool.opening)
            instruments.meter("curlew.client.waiting_requests", labels).set(pool.waiting)
        }
    }

    /// Records the connections at once and after each interval, until the task is cancelled.
    public func run(every interval: Duration = .seconds(15)) async throws {
        while true {
            await record()
            try await Task.sleep(for: interval)
        }
    }
}
