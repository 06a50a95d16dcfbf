package import CurlewCore

/// The results of a simulation.
package struct Report: Sendable {
    /// A call that has ended.
    package struct Ended: Sendable, Equatable {
        package let arrived: Duration
        package let ended: Duration
        package let isSuccess: Bool
        package let attempts: Int
        package let priority: RequestPriority
    }

    package let scenario: Scenario
    package let stack: String
    package internal(set) var ended: [Ended] = []
    /// The number of calls that were made.
    package internal(set) var arrived = 0
    /// The responses that clients waited for: when the attempt was sent, and how long it took.
    package private(set) var responses: [(sent: Duration, latency: Duration)] = []
    /// The number of events that were carried out.
    package internal(set) var events = 0
    /// Requests that were sent, and those among them that the server did not accept.
    package private(set) var sent = 0
    package private(set) var unaccepted = 0
    /// The second copies among the requests. The others are attempts.
    package private(set) var hedged = 0
    /// Requests that the server served after their clients had given up, or had used the other copy.
    package private(set) var inVain = 0
    package private(set) var served = 0

    init(scenario: Scenario, stack: String) { (self.scenario, self.stack) = (scenario, stack) }

    mutating func sent(_ copy: HedgeRace.Copy, _ reply: Upstream.Reply) {
        sent += 1
        if copy == .second { hedged += 1 }
        if case .accepted = reply { return }
        unaccepted += 1
    }

    /// `latency` is `nil` if the client had given up.
    mutating func served(at now: Duration, after latency: Duration?) {
        served += 1
        if let latency { responses.append((now - latency, latency)) } else { inVain += 1 }
    }

    /// Returns the calls that arrived in the range.
    package func calls(in times: Range<Duration>) -> [Ended] { ended.filter { times.contains($0.arrived) } }

    /// Returns the share of successful calls among those that arrived in the range.
    package func goodput(in times: Range<Duration>, _ priority: RequestPriority? = nil) -> Double {
        let calls = calls(in: times).filter { priority == nil || $0.priority == priority }
        return Double(calls.count { $0.isSuccess }) / Double(max(calls.count, 1))
    }

    /// Returns the latency that this share of the responses to attempts in the range does not exceed.
    package func response(_ share: Double, in times: Range<Duration>) -> Duration? {
        responses.filter { times.contains($0.sent) }.map(\.latency).quantile(share)
    }

    /// Returns the time until the caller knows the outcome that this share of the calls does not exceed.
    package func outcome(_ share: Double, in times: Range<Duration>, isSuccess: Bool) -> Duration? {
        calls(in: times).filter { $0.isSuccess == isSuccess }.map { $0.ended - $0.arrived }.quantile(share)
    }

    /// The time from the end of the trouble until calls succeed again: at least 95 of 100 that arrive in five seconds.
    /// `nil` if that does not happen before the simulation ends.
    package var recovery: Duration? {
        let length = Int(scenario.length / .seconds(1))
        var seconds = [(calls: Int, successes: Int)](repeating: (0, 0), count: length)
        for call in ended {
            let second = Int(call.arrived / .seconds(1))
            guard second < length else { continue }
            seconds[second].calls += 1
            if call.isSuccess { seconds[second].successes += 1 }
        }
        let found = (Int(scenario.end / .seconds(1))..<length - 4).first { second in
            let (calls, successes) = seconds[second..<second + 5].reduce((0, 0)) {
                ($0.0 + $1.calls, $0.1 + $1.successes)
            }
            return Double(successes) >= 0.95 * Double(max(calls, 1))
        }
        return found.map { .seconds($0) - scenario.end }
    }
}

extension [Duration] {
    fileprivate func quantile(_ share: Double) -> Duration? {
        let sorted = sorted()
        return sorted.isEmpty ? nil : sorted[Swift.min(Int(share * Double(count)), count - 1)]
    }
}
