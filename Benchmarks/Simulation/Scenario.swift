internal import CurlewCore

/// A server, its troubles, and the calls that are made.
package struct Scenario: Sendable {
    package let name: String
    var upstream = Upstream.Settings()
    /// The number of servers, each with the settings of `upstream`. Only the first one has its troubles.
    package var replicas = 1
    package var clients = 10
    var callsPerSecond = 700.0
    package var length = Duration.seconds(90)
    /// Further calls at one moment.
    var burst: (time: Duration, count: Int)?
    /// The priorities from which each call gets one at random.
    var priorities = [RequestPriority.normal]
    /// `timeouts.firstByte` and `timeouts.connect`.
    package var timeout = Duration.seconds(1)
    /// `timeouts.queue`
    var queueTimeout = Duration.seconds(2)
    /// The default of `RetryPolicy`.
    package var retryLimit = 2

    /// The requests per second that the servers can take without trouble.
    var requestsPerSecond: Int { upstream.acceptedPerSecond ?? Int(upstream.capacity) * replicas }

    package var all: Range<Duration> { .zero..<length }

    /// The time in which the server has trouble. The trouble of a burst lasts ten seconds.
    package var trouble: Range<Duration> {
        upstream.phases.first?.times ?? burst.map { $0.time..<($0.time + .seconds(10)) } ?? all
    }

    /// The time from which calls could succeed again.
    package var end: Duration { upstream.phases.first?.times.upperBound ?? burst?.time ?? .zero }

    /// The load is within the capacity, and the server has no trouble.
    package static func calm(clients: Int = 10) -> Scenario { Scenario(name: "calm", clients: clients) }

    /// Thousands of calls arrive at one moment, as after the expiry of a cache entry. Otherwise the load is within the
    /// capacity.
    package static func herd(clients: Int = 10) -> Scenario {
        var scenario = Scenario(name: "herd")
        scenario.clients = clients
        scenario.burst = (.seconds(10), 4_000)
        return scenario
    }

    /// For twenty seconds, requests take four times as long. One call in five has a high priority.
    package static func slow(clients: Int = 10) -> Scenario {
        var scenario = Scenario(name: "slow")
        scenario.priorities = [.high, .normal, .normal, .normal, .normal]
        scenario.timeout = .seconds(5)
        scenario.clients = clients
        scenario.upstream.phases = [Upstream.Phase(trouble: .slow(4), times: .seconds(10)..<(.seconds(30)))]
        return scenario
    }

    /// For twenty seconds, the server does not respond.
    package static func dead(clients: Int = 10) -> Scenario {
        var scenario = Scenario(name: "dead")
        scenario.clients = clients
        scenario.upstream.phases = [Upstream.Phase(trouble: .dead, times: .seconds(10)..<(.seconds(30)))]
        return scenario
    }

    /// For a minute, one of five servers does not respond. The others suffice for the load.
    package static func replica(clients: Int = 10) -> Scenario {
        var scenario = Scenario(name: "replica")
        scenario.clients = clients
        scenario.callsPerSecond = 500
        scenario.replicas = 5
        scenario.upstream.workers = 10
        scenario.upstream.queueLimit = 1_000
        scenario.upstream.phases = [Upstream.Phase(trouble: .dead, times: .seconds(10)..<(.seconds(70)))]
        return scenario
    }

    /// One request of fifty takes half a second longer, as if it met a pause of the server.
    package static func tail(clients: Int = 10) -> Scenario {
        var scenario = Scenario(name: "tail")
        scenario.clients = clients
        scenario.callsPerSecond = 500
        scenario.upstream.stalled = 0.02
        scenario.upstream.stall = .milliseconds(500)
        return scenario
    }

    /// The server accepts fewer requests than are made.
    package static func quota(clients: Int = 10) -> Scenario {
        var scenario = Scenario(name: "quota")
        scenario.clients = clients
        scenario.upstream.acceptedPerSecond = 500
        return scenario
    }

    /// Returns the scenario with its server and its number of calls scaled by a factor.
    package func scaled(by factor: Double) -> Scenario {
        func scaled(_ count: Int) -> Int { max(Int(Double(count) * factor), 1) }
        var scenario = self
        scenario.upstream.workers = scaled(upstream.workers)
        scenario.upstream.queueLimit = scaled(upstream.queueLimit)
        scenario.upstream.acceptedPerSecond = upstream.acceptedPerSecond.map(scaled)
        scenario.callsPerSecond *= factor
        scenario.burst = burst.map { ($0.time, scaled($0.count)) }
        return scenario
    }
}
