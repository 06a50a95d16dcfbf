internal import Curlew
internal import CurlewLocks

/// Gives each exchange to the engine that has the fewest.
final class SharedAmongEngines: Transport {
    private let engines: [any Transport]
    private let loads: Lock<[Int]>

    init(_ configuration: SessionConfiguration, count: Int) {
        // The limit on connections is divided among the engines.
        var part = configuration
        part.maximumConnectionsPerHost = (configuration.maximumConnectionsPerHost + count - 1) / count
        part.maximumConnections = (configuration.maximumConnections + count - 1) / count
        engines = (0..<count).map { _ in part.makeTransport() }
        loads = Lock([Int](repeating: 0, count: count))
    }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        let index = loads.withLock { loads in
            let least = loads.indices.min { loads[$0] < loads[$1] } ?? 0
            loads[least] += 1
            return least
        }
        defer { loads.withLock { $0[index] -= 1 } }
        return try await engines[index].perform(request, sink: sink)
    }

    func shutdown() async {
        for engine in engines { await engine.shutdown() }
    }
}
