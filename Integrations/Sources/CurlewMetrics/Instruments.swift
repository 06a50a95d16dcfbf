internal import Metrics
internal import Synchronization

/// The metric objects, one for each name and set of dimensions. Backends may keep state for each object that is made, so
/// each is made once, unless two threads need a new one at once.
final class Instruments: Sendable {
    private struct Key: Hashable, Sendable {
        let name: String
        let dimensions: [Dimension]
    }

    private let factory: any MetricsFactory
    private let timers = Mutex<[Key: Timer]>([:])
    private let recorders = Mutex<[Key: Recorder]>([:])
    private let meters = Mutex<[Key: Meter]>([:])
    private let counters = Mutex<[Key: Counter]>([:])

    init(_ factory: any MetricsFactory) { self.factory = factory }

    func timer(_ name: String, _ dimensions: [Dimension]) -> Timer {
        Self.find(name, dimensions, in: timers) {
            Timer(label: name, dimensions: $0, preferredDisplayUnit: .seconds, factory: factory)
        }
    }

    func recorder(_ name: String, _ dimensions: [Dimension]) -> Recorder {
        Self.find(name, dimensions, in: recorders) { Recorder(label: name, dimensions: $0, factory: factory) }
    }

    func meter(_ name: String, _ dimensions: [Dimension]) -> Meter {
        Self.find(name, dimensions, in: meters) { Meter(label: name, dimensions: $0, factory: factory) }
    }

    func counter(_ name: String, _ dimensions: [Dimension]) -> Counter {
        Self.find(name, dimensions, in: counters) { Counter(label: name, dimensions: $0, factory: factory) }
    }

    private static func find<Metric: Sendable>(
        _ name: String, _ dimensions: [Dimension], in known: borrowing Mutex<[Key: Metric]>,
        make: ([(String, String)]) -> Metric
    ) -> Metric {
        let key = Key(name: name, dimensions: dimensions)
        if let metric = known.withLock({ $0[key] }) { return metric }
        // Made without the lock, because the backend is called. If another thread was first, its metric is used. The other
        // one is not destroyed: backends may have returned the same object for both.
        let metric = make(dimensions.map { ($0.name, $0.value) })
        return known.withLock { known in
            if let first = known[key] { return first }
            known[key] = metric
            return metric
        }
    }
}
