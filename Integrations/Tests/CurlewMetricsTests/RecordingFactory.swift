import Metrics
import Synchronization

/// A metrics backend that keeps every value. Increments and decrements are kept as they are.
final class RecordingFactory: MetricsFactory {
    struct Value: Sendable {
        let label: String
        let dimensions: [String: String]
        let value: Double
    }

    private let recorded = Mutex<[Value]>([])
    private let units = Mutex<[String: String]>([:])
    private let hook = Mutex<(@Sendable () -> Void)?>(nil)

    var all: [Value] { recorded.withLock(\.self) }
    var preferredUnits: [String: String] { units.withLock(\.self) }

    func values(of label: String) -> [Value] { all.filter { $0.label == label } }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { make(label, dimensions) }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { make(label, dimensions) }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        make(label, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { make(label, dimensions) }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// Calls `body` once, while the next metric is made.
    func whenNextIsMade(_ body: @escaping @Sendable () -> Void) { hook.withLock { $0 = body } }

    private func make(_ label: String, _ dimensions: [(String, String)]) -> Handler {
        let body = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        body?()
        return Handler(factory: self, label: label, dimensions: Dictionary(uniqueKeysWithValues: dimensions))
    }

    private final class Handler: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
        private let factory: RecordingFactory
        private let label: String
        private let dimensions: [String: String]

        init(factory: RecordingFactory, label: String, dimensions: [String: String]) {
            (self.factory, self.label, self.dimensions) = (factory, label, dimensions)
        }

        private func keep(_ value: Double) {
            factory.recorded.withLock { $0.append(Value(label: label, dimensions: dimensions, value: value)) }
        }

        func increment(by amount: Int64) { keep(Double(amount)) }
        func increment(by amount: Double) { keep(amount) }
        func decrement(by amount: Double) { keep(-amount) }
        func reset() {}
        func record(_ value: Int64) { keep(Double(value)) }
        func record(_ value: Double) { keep(value) }
        func set(_ value: Int64) { keep(Double(value)) }
        func set(_ value: Double) { keep(value) }
        func recordNanoseconds(_ duration: Int64) { keep(Double(duration)) }
        func preferDisplayUnit(_ unit: TimeUnit) {
            factory.units.withLock { $0[label] = unit == .seconds ? "seconds" : "another" }
        }
    }
}
