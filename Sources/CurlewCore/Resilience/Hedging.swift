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
    package enum Delay: Sendable, Hashable {
        case fixed(Duration)
        case percentile(Double, atLeast: Duration)
    }

    package let delay: Delay
    /// The number of second copies per request, from 0 to 1. Each origin is counted separately, and starts with none.
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
        let isRepeatable =
            methods.contains(request.method) && request.method.isIdempotent
            || request.headers.contains(name: "Idempotency-Key")
        guard isRepeatable else { return false }
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

    package init(delay: Duration, hasWon: Bool) {
        self.delay = delay
        self.hasWon = hasWon
    }
}

/// The latencies of an origin, and the second copies that may be sent to it.
package struct HedgeState: Sendable {
    private var latencies = LatencySample()
    /// In millionths of a second copy, so that ten times a tenth is one.
    private var credit = 0
    private static let one = 1_000_000
    /// The most second copies that quiet times accumulate.
    private static let most = 10

    package init() {}

    /// Counts a request. Returns the time after which its second copy may be sent, or `nil` if it is not known.
    package mutating func requestStarts(_ hedging: Hedging) -> Duration? {
        let share = hedging.maximumShare.isNaN ? 0 : min(max(hedging.maximumShare, 0), 1)
        credit = min(credit + Int(share * Double(Self.one)), Self.most * Self.one)
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
    package mutating func giveBack() { credit += Self.one }

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
