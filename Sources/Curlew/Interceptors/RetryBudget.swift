internal import CurlewCore
internal import CurlewLocks

/// Bounds how many retries a client adds to its requests, so that a server in trouble is not buried under them.
///
/// Every request pays in `ratio` of a retry, and `minimumPerSecond` are free; at most `capacity` can be saved up.
/// Share one budget among the policies that talk to one server. Requests pay in where the policy is their
/// interceptor, not where it only is a retrier.
public final class RetryBudget: Sendable {
    /// Retries per request in the long run.
    package let ratio: Double
    /// Retries per second that are allowed even if there are hardly any requests.
    package let minimumPerSecond: Double
    /// Most retries in one burst.
    package let capacity: Double

    private let bucket: Lock<RetryTokenBucket>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Makes a budget: `ratio` retries per request, at least `minimumPerSecond`, at most `capacity` at once.
    public convenience init(ratio: Double = 0.2, minimumPerSecond: Double = 1, capacity: Double = 20) {
        self.init(ratio: ratio, minimumPerSecond: minimumPerSecond, capacity: capacity) { .now }
    }

    init(
        ratio: Double,
        minimumPerSecond: Double,
        capacity: Double,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.ratio = ratio
        self.minimumPerSecond = minimumPerSecond
        self.capacity = capacity
        self.now = now
        bucket = Lock(
            RetryTokenBucket(ratio: ratio, minimumPerSecond: minimumPerSecond, capacity: capacity, now: now())
        )
    }

    /// A request starts: pays in its share.
    func deposit() {
        let now = now()
        bucket.withLock { $0.requestStarted(at: now) }
    }

    /// Whether one more retry is covered; if so it is paid.
    func withdraw() -> Bool {
        let now = now()
        return bucket.withLock { $0.retryWanted(at: now) }
    }
}
