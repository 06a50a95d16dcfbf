internal import Metrics
internal import Synchronization

/// The metric objects, one for each name and set of dimensions. Backends may keep state for each object that is made, so
/// each is made once.
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
        known.withLock { known in
            let key = Key(name: name, dimensions: dimensions)
            if let metric = known[key] { return metric }
            let metric = make(dimensions.map { ($0.name, $0.value) })
            known[key] = metric
            return metric
        }
    }
}
