/// Sends a second copy of a request whose response takes unusually long, and uses the response that begins first.
///
///     configuration.resilience.hedging = .percentile(0.95)
///     configuration.resilience.hedging = .after(.milliseconds(200))
///
/// A few slow responses of a server, and not its average, decide how long a page of many requests takes. A second copy
/// usually meets a faster instance. It costs the server at most `maximumShare` more requests.
///
/// Only requests that do no harm when they are carried out twice are hedged: those with one of `methods`, and those
/// with an idempotency key. A body has to be in memory, and to have at most 64 KiB. WebSockets are never hedged.
public struct Hedging: Sendable {
    /// Why a second copy that was due was not sent.
    public enum Refusal: Sendable, Hashable {
        /// The share of second copies was used up.
        case share
        /// A limit of the session would not have permitted it at once, or the circuit is open.
        case limits
    }

    package enum Delay: Sendable, Hashable {
        case fixed(Duration)
        case percentile(Double, atLeast: Duration)
    }

    package let delay: Delay
    /// The number of second copies per request that may be hedged, from 0 to 1; a retry and a redirect are requests of
    /// their own. Each origin is counted separately, and starts with none.
    public var maximumShare = 0.1
    /// The methods that are hedged. Those that are not idempotent, such as POST, need an idempotency key in any case.
    ///
    /// PUT and DELETE are not among the defaults. The server may carry out the copy that lost after the program has
    /// continued, and so undo a later change; and the second DELETE of a resource is answered with 404.
    public var methods: Set<HTTPMethod> = [.get, .head, .options, .query, .trace]

    /// The minimum number of known latencies for a percentile.
    package static let fewestSamples = 20
    /// The longest body that is sent twice.
    package static let largestBody = 64 * 1024

    private init(_ delay: Delay) { self.delay = delay }

    /// Sends the second copy if there is no response after this time.
    public static func after(_ delay: Duration) -> Hedging { Hedging(.fixed(max(delay, .zero))) }

    /// Sends the second copy if there is no response after the time within which this share of the last 128 responses
    /// of the origin began, and not before `floor`.
    ///
    /// Nothing is hedged before 20 responses are known.
    public static func percentile(_ share: Double, atLeast floor: Duration = .milliseconds(10)) -> Hedging {
        Hedging(.percentile(share.isNaN ? 1 : min(max(share, 0), 1), atLeast: max(floor, .zero)))
    }

    /// Whether a second copy of the request may be sent.
    package func mayHedge(_ request: TransferRequest) -> Bool {
        if request.leavesOut(.hedging) { return false }
        let mayTakeEffectTwice =
            methods.contains(request.method) && request.method.isIdempotent
            || request.headers.contains(name: "Idempotency-Key")
        guard mayTakeEffectTwice else { return false }
        switch request.body {
        case .none: return true
        case .data(let data): return data.count <= Self.largestBody
        // Sending such a body takes most of the time, and a second copy would double it. A stream cannot be read twice
        // at a time.
        case .file, .stream: return false
        }
    }

    /// Whether a response with this head ends the race. Otherwise the other copy may still have a better one.
    package static func isGood(_ head: ResponseHead) -> Bool {
        head.status != 429 && !AttemptOutcome(status: head.status).isServerFailure
    }
}

/// The second copy of a request that was hedged.
public struct Hedge: Sendable, Hashable {
    /// The time after which the second copy was sent.
    public let delay: Duration
    /// Whether the response is that of the second copy.
    public let hasWon: Bool
    /// The measurements of the copy whose response was not used, until its end or its cancellation. `nil` if its
    /// transport has none.
    public let unused: TransferMetrics?
    /// The outcome of the copy whose response was not used. `nil` if it was cancelled.
    package let unusedOutcome: AttemptOutcome?

    package init(
        delay: Duration, hasWon: Bool, unused: TransferMetrics? = nil, unusedOutcome: AttemptOutcome? = nil
    ) {
        self.delay = delay
        self.hasWon = hasWon
        self.unused = unused
        self.unusedOutcome = unusedOutcome
    }

    public static func == (left: Hedge, right: Hedge) -> Bool {
        left.delay == right.delay && left.hasWon == right.hasWon && left.unused == right.unused
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(delay)
        hasher.combine(hasWon)
    }
}

/// The latencies of an origin, and the second copies that may be sent to it.
package struct HedgeState: Sendable {
    private var latencies = LatencySample()
    /// The second copies that may be sent now. Counted in millionths of one, so that ten times a tenth is one.
    private var credit = 0
    private static let one = 1_000_000
    /// The second copies that may be sent at once, however many requests had none.
    private static let maximumCredit = 10

    package init() {}

    /// Counts a request. Returns the time after which its second copy may be sent, or `nil` if it is not known.
    package mutating func requestStarts(_ hedging: Hedging) -> Duration? {
        let share = hedging.maximumShare.isNaN ? 0 : min(max(hedging.maximumShare, 0), 1)
        credit = min(credit + Int(share * Double(Self.one)), Self.maximumCredit * Self.one)
        switch hedging.delay {
        case .fixed(let delay): return delay
        case .percentile(let share, let floor):
            guard latencies.count >= Hedging.fewestSamples else { return nil }
            return max(latencies.percentile(share), floor)
        }
    }

    /// Takes a second copy from the share. Returns `false` if the share is used up.
    package mutating func take() -> Bool {
        guard credit >= Self.one else { return false }
        credit -= Self.one
        return true
    }

    /// Gives back a second copy that was not sent.
    package mutating func giveBack() { credit = min(credit + Self.one, Self.maximumCredit * Self.one) }

    /// Records the time after which a response began. If the second copy was faster, that is the time that the first
    /// one had taken by then: without such times the percentile would sink, as only fast responses would be known.
    package mutating func responseBegan(after latency: Duration) { latencies.add(latency) }
}

/// The last latencies, in the order of their arrival and in that of their length.
package struct LatencySample: Sendable {
    private var latest: [Duration] = []
    private var sorted: [Duration] = []
    /// The index in `latest` of the oldest one, once it is full.
    private var oldest = 0
    package static let size = 128

    package init() {}

    package var count: Int { sorted.count }

    package mutating func add(_ latency: Duration) {
        if latest.count < Self.size {
            latest.append(latency)
        } else {
            sorted.remove(at: index(of: latest[oldest]))
            latest[oldest] = latency
            oldest = (oldest + 1) % Self.size
        }
        sorted.insert(latency, at: index(of: latency))
    }

    /// Returns the shortest latency that at least this share of all latencies does not exceed. There must be one.
    package func percentile(_ share: Double) -> Duration {
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    /// Returns the index of the first one that is not shorter.
    private func index(of latency: Duration) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < latency { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The race of two copies of a request. The first good response wins.
///
///     a copy:   absent ─ hedge ─▶ running ─┬─ good head, or the other copy has failed or is absent ─▶ wins
///                                          ├─ bad head while the other copy is running ─▶ held ──┐
///                                          └─ failure ─▶ failed                                  │
///     held ─┬─ the other copy has a good head ───────────────────▶ loses                         │
///           ├─ the other copy fails ─────────────────────────────▶ wins                          │
///           └─ the other copy has a bad head as well ─▶ the first copy wins ◀────────────────────┘
///
/// So a good response is better than a bad one, a bad one is better than a failure, and of two equal ones the first
/// copy's is used. If there is no winner, both copies have failed, and the first copy's failure is used.
///
/// A value type. The caller protects it by a lock, and carries out the commands of a step after it has released the
/// lock. The copies continue meanwhile. A copy that has lost is dropped at its next event, even if its cancellation has
/// not arrived.
package struct HedgeRace: Sendable {
    package enum Copy: Int, Sendable, Hashable {
        case first, second

        package var other: Copy { self == .first ? .second : .first }
    }

    package enum Stage: Sendable, Hashable {
        case absent
        /// No head has arrived.
        case running
        /// A bad head has arrived, and waits for the other copy.
        case held
        case failed
    }

    /// The decision about a head.
    package enum Verdict: Sendable, Hashable {
        case deliver
        /// The copy pauses.
        case hold
        /// The copy has lost.
        case drop
    }

    /// The calls that a step requires of the copies' controls.
    package struct Commands: Sendable, Hashable {
        /// The copy that has lost.
        package var cancel: Copy?
        /// The copy that was held and has won.
        package var resume: Copy?

        package init(cancel: Copy? = nil, resume: Copy? = nil) { (self.cancel, self.resume) = (cancel, resume) }
    }

    package private(set) var winner: Copy?
    private var stages: [Stage] = [.running, .absent]

    package init() {}

    package func stage(of copy: Copy) -> Stage { stages[copy.rawValue] }

    /// Whether the second copy was sent, or is about to be.
    package var isHedged: Bool { stage(of: .second) != .absent }

    /// Begins the second copy. Returns `false` if there must not be one: the first one has a head, or has failed.
    package mutating func hedge() -> Bool {
        guard winner == nil, stages == [.running, .absent] else { return false }
        stages[Copy.second.rawValue] = .running
        return true
    }

    /// Decides about the head of a copy.
    package mutating func headArrived(of copy: Copy, isGood: Bool) -> (Verdict, Commands) {
        if let winner { return (winner == copy ? .deliver : .drop, Commands()) }
        switch stage(of: copy.other) {
        case .absent, .failed: return (.deliver, win(copy))
        case .running where isGood, .held where isGood: return (.deliver, win(copy))
        case .running:
            stages[copy.rawValue] = .held
            return (.hold, Commands())
        case .held: return (copy == .first ? .deliver : .drop, win(.first))
        }
    }

    /// Records that a copy has failed, or was not sent after all.
    package mutating func failed(_ copy: Copy) -> Commands {
        stages[copy.rawValue] = .failed
        return winner == nil && stage(of: copy.other) == .held ? win(copy.other) : Commands()
    }

    private mutating func win(_ copy: Copy) -> Commands {
        winner = copy
        var commands = Commands()
        if stage(of: copy) == .held { commands.resume = copy }
        switch stage(of: copy.other) {
        case .running, .held: commands.cancel = copy.other
        case .absent, .failed: break
        }
        return commands
    }
}
