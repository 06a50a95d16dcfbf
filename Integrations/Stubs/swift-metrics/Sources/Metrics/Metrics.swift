// A stand-in for apple/swift-metrics: the part of its API that CurlewMetrics and its tests use.

public protocol CounterHandler: AnyObject, Sendable {
    func increment(by: Int64)
    func reset()
}

public protocol RecorderHandler: AnyObject, Sendable {
    func record(_ value: Int64)
    func record(_ value: Double)
}

public protocol MeterHandler: AnyObject, Sendable {
    func set(_ value: Int64)
    func set(_ value: Double)
    func increment(by: Double)
    func decrement(by: Double)
}

public protocol TimerHandler: AnyObject, Sendable {
    func recordNanoseconds(_ duration: Int64)
    func preferDisplayUnit(_ unit: TimeUnit)
}

public struct TimeUnit: Equatable, Sendable {
    public static let seconds = TimeUnit()
}

public protocol MetricsFactory: Sendable {
    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler
    func destroyCounter(_ handler: any CounterHandler)
    func destroyMeter(_ handler: any MeterHandler)
    func destroyRecorder(_ handler: any RecorderHandler)
    func destroyTimer(_ handler: any TimerHandler)
}

public enum MetricsSystem {
    public static var factory: any MetricsFactory { NOOPMetricsHandler.instance }
}

public final class Counter: Sendable {
    private let handler: any CounterHandler
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
        handler = factory.makeCounter(label: label, dimensions: dimensions)
    }
    public func increment() { handler.increment(by: 1) }
}

// SAFETY: its only property is constant and Sendable.
public class Recorder: @unchecked Sendable {
    private let handler: any RecorderHandler
    public init(label: String, dimensions: [(String, String)] = [], aggregate: Bool = true, factory: any MetricsFactory)
    {
        handler = factory.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }
    public func record<Value: BinaryInteger>(_ value: Value) { handler.record(Int64(value)) }
}

public final class Meter: Sendable {
    private let handler: any MeterHandler
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
        handler = factory.makeMeter(label: label, dimensions: dimensions)
    }
    public func set<Value: BinaryInteger>(_ value: Value) { handler.set(Int64(value)) }
    public func increment() { handler.increment(by: 1) }
    public func decrement() { handler.decrement(by: 1) }
}

public final class Timer: Sendable {
    private let handler: any TimerHandler
    public init(
        label: String, dimensions: [(String, String)] = [], preferredDisplayUnit displayUnit: TimeUnit,
        factory: any MetricsFactory
    ) {
        handler = factory.makeTimer(label: label, dimensions: dimensions)
        handler.preferDisplayUnit(displayUnit)
    }
    public func recordSeconds<Value: BinaryFloatingPoint>(_ duration: Value) {
        handler.recordNanoseconds(Int64(duration * 1_000_000_000))
    }
}

public final class NOOPMetricsHandler: MetricsFactory, CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    public static let instance = NOOPMetricsHandler()
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { self }
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { self }
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        self
    }
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { self }
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}
    public func increment(by: Int64) {}
    public func increment(by: Double) {}
    public func decrement(by: Double) {}
    public func reset() {}
    public func record(_ value: Int64) {}
    public func record(_ value: Double) {}
    public func set(_ value: Int64) {}
    public func set(_ value: Double) {}
    public func recordNanoseconds(_ duration: Int64) {}
    public func preferDisplayUnit(_ unit: TimeUnit) {}
}
