/// Wall-clock and CPU time of one piece of work.
public struct Stopwatch: Sendable {
    private let began = ContinuousClock.now
    private let cpuBefore = ProcessFigures.cpuSeconds

    public init() {}

    public var seconds: Double { (ContinuousClock.now - began) / .seconds(1) }
    public var cpu: Double { ProcessFigures.cpuSeconds - cpuBefore }
}

public typealias Figures = [String: [Double]]

extension Figures {
    /// Adds the times of a stopwatch under `<name>_seconds` and `<name>_cpu`.
    public mutating func add(_ name: String, _ stopwatch: Stopwatch) {
        let (seconds, cpu) = (stopwatch.seconds, stopwatch.cpu)
        self[name + "_seconds", default: []].append(seconds)
        self[name + "_cpu", default: []].append(cpu)
    }
}
