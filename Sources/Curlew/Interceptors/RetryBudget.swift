internal import CurlewLocks
public import Foundation

/// Bounds how many retries a client adds to its requests, so that a server in trouble is not buried under them.
///
/// Every request pays in `ratio` of a retry, and `minimumPerSecond` are free; what is not used within `window` is
/// lost. Share one budget among the policies that talk to one server.
public final class RetryBudget: Sendable {
    /// Retries per request in the long run.
    public let ratio: Double
    /// Retries per second that are allowed even if there are hardly any requests.
    public let minimumPerSecond: Double
    /// How far back payments count, in seconds.
    public let window: TimeInterval

    private struct Account {
        var balance: Double
        var updated: TimeInterval
    }

    private let account: Lock<Account>
    private let uptime: @Sendable () -> TimeInterval

    public convenience init(ratio: Double = 0.2, minimumPerSecond: Double = 10, window: TimeInterval = 10) {
        self.init(ratio: ratio, minimumPerSecond: minimumPerSecond, window: window) {
            ProcessInfo.processInfo.systemUptime
        }
    }

    init(
        ratio: Double,
        minimumPerSecond: Double,
        window: TimeInterval,
        uptime: @escaping @Sendable () -> TimeInterval
    ) {
        self.ratio = max(ratio, 0)
        self.minimumPerSecond = max(minimumPerSecond, 0)
        self.window = max(window, 1)
        self.uptime = uptime
        account = Lock(Account(balance: max(minimumPerSecond, 0) * max(window, 1), updated: uptime()))
    }

    /// A request starts: pays in its share.
    func deposit() {
        let now = uptime()
        account.withLock { refill(&$0, now: now, plus: ratio) }
    }

    /// Whether one more retry is covered; if so it is paid.
    func withdraw() -> Bool {
        let now = uptime()
        return account.withLock { account in
            refill(&account, now: now, plus: 0)
            guard account.balance >= 1 else { return false }
            account.balance -= 1
            return true
        }
    }

    private func refill(_ account: inout Account, now: TimeInterval, plus payment: Double) {
        let elapsed = min(max(now - account.updated, 0), window)
        // Old payments fade as fast as the window passes; the free share flows in meanwhile.
        let free = minimumPerSecond * window
        let fading = account.balance > free ? (account.balance - free) * (elapsed / window) : 0
        account.balance = account.balance - fading + payment
        if account.balance < free { account.balance = min(account.balance + minimumPerSecond * elapsed, free) }
        account.updated = now
    }
}
