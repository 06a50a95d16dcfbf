internal import CurlewCore
internal import Foundation

/// A server with some workers and a queue before them.
///
/// The server cannot know that a client has given up, so it also serves such requests, in vain. That is how an
/// overload outlives its cause.
struct Upstream {
    struct Settings {
        /// The number of requests that are served at the same time.
        var workers = 50
        /// The mean of the time for one request, which is distributed exponentially.
        var serviceTime = Duration.milliseconds(50)
        /// The share of requests that take longer by `stall`, and this time.
        var stalled = 0.0
        var stall = Duration.zero
        /// The number of requests that wait for a worker. Others get a 503 at once.
        var queueLimit = 5_000
        var phases: [Phase] = []
        /// The number of requests that are accepted in each second. Others get a 429 with `Retry-After: 1`.
        var acceptedPerSecond: Int?

        /// The requests per second that the server can serve without trouble.
        var capacity: Double { Double(workers) / ((serviceTime + stall * stalled) / .seconds(1)) }
    }

    /// A time in which the server has trouble.
    struct Phase {
        enum Trouble {
            /// Each request takes longer by this factor.
            case slow(Double)
            /// New requests get neither a connection nor a response.
            case dead
        }

        let trouble: Trouble
        let times: Range<Duration>
    }

    /// One copy of an attempt of a call.
    struct Job: Hashable {
        let call: Int
        let attempt: Int
        let copy: HedgeRace.Copy
        /// The index of the server.
        let replica: Int
    }

    enum Reply {
        case accepted
        case refused(ResponseHead)
        case nothing
    }

    private static let tooManyRequests = ResponseHead(status: 429, headers: ["Retry-After": "1"])
    private static let overloaded = ResponseHead(status: 503)

    let settings: Settings
    private var queue: [Job] = []
    /// The index of the first job in `queue`. Jobs before it have been served.
    private var head = 0
    private var busy = 0
    /// The second in which requests were last accepted, and their number.
    private var accepted = (second: -1, count: 0)

    init(_ settings: Settings) { self.settings = settings }

    var waiting: Int { queue.count - head }

    private func trouble(at now: Duration) -> Phase.Trouble? {
        settings.phases.first { $0.times.contains(now) }?.trouble
    }

    mutating func receive(_ job: Job, at now: Duration) -> Reply {
        if case .dead? = trouble(at: now) { return .nothing }
        if let most = settings.acceptedPerSecond {
            let second = Int(now / .seconds(1))
            if accepted.second != second { accepted = (second, 0) }
            guard accepted.count < most else { return .refused(Self.tooManyRequests) }
            accepted.count += 1
        }
        guard waiting < settings.queueLimit else { return .refused(Self.overloaded) }
        queue.append(job)
        return .accepted
    }

    /// Begins the next job, if there is one and a worker for it. Returns it with the time that it takes.
    mutating func begin(at now: Duration, using random: inout Random) -> (Job, Duration)? {
        guard busy < settings.workers, head < queue.count else { return nil }
        busy += 1
        let job = queue[head]
        head += 1
        if head > 1_024, head * 2 > queue.count {
            queue.removeFirst(head)
            head = 0
        }
        var time = random.exponential(settings.serviceTime)
        if case .slow(let factor)? = trouble(at: now) { time = time * factor }
        if settings.stalled > 0, Double.random(in: 0..<1, using: &random) < settings.stalled { time += settings.stall }
        return (job, time)
    }

    mutating func end() { busy -= 1 }
}

/// SplitMix64, with the distribution that arrivals and service times have.
struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func exponential(_ mean: Duration) -> Duration {
        mean * -log(1 - Double.random(in: 0..<1, using: &self))
    }
}
