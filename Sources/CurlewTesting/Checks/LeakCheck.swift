internal import Foundation

/// Compares counters with what they were, and waits for those that are still on their way down.
///
///     let check = LeakCheck(.fileDescriptors, .threads, .init("live transfers") { transport.liveTransfers })
///     …
///     try await check.wait()
///
/// File descriptors and threads are the whole process's: such a check belongs in a serialized suite, or
/// other tests' descriptors make it fail. A counter of one's own object may be used anywhere.
public struct LeakCheck: Sendable {
    /// Something countable that must come back to where it was.
    public struct Counter: Sendable {
        /// What a `Leak` calls it.
        public let name: String
        /// By how much it may stay above the baseline.
        public let allowance: Int
        let read: @Sendable () -> Int

        /// Creates a counter from a closure that may be called from any thread.
        public init(_ name: String, allowing allowance: Int = 0, read: @escaping @Sendable () -> Int) {
            self.name = name
            self.allowance = allowance
            self.read = read
        }

        /// Open descriptors of the process.
        public static let fileDescriptors = Counter("file descriptors") { LeakCheck.openFileDescriptors }
        /// Threads of the process.
        public static let threads = Counter("threads") { LeakCheck.threadCount }

        /// Threads of the process that may grow by so many: Swift's and Dispatch's pools start theirs late.
        public static func threads(allowing allowance: Int) -> Counter {
            Counter("threads", allowing: allowance) { LeakCheck.threadCount }
        }
    }

    /// Counters that did not come back in time.
    public struct Leak: Error, Sendable, CustomStringConvertible {
        /// Name, baseline and last reading of each.
        public let counters: [(name: String, baseline: Int, now: Int)]

        public var description: String {
            counters.map { "\($0.name): \($0.now), were \($0.baseline)" }.joined(separator: "; ")
        }
    }

    private let counters: [(counter: Counter, baseline: Int)]

    /// Takes the baseline.
    public init(_ counters: Counter...) { self.init(counters) }

    /// Takes the baseline.
    public init(_ counters: [Counter]) { self.counters = counters.map { ($0, $0.read()) } }

    /// Those that are above their baseline now.
    public var leaks: [(name: String, baseline: Int, now: Int)] {
        counters.compactMap { counter, baseline in
            let now = counter.read()
            return now > baseline + counter.allowance ? (counter.name, baseline, now) : nil
        }
    }

    /// Returns as soon as nothing is above its baseline; throws `Leak` when something still is in the end.
    public func wait(timeout: Duration = .seconds(5)) async throws {
        let deadline = ContinuousClock.now + timeout.asTestBound
        while true {
            let leaks = leaks
            if leaks.isEmpty { return }
            if ContinuousClock.now >= deadline { throw Leak(counters: leaks) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// How many descriptors the process has open.
    public static var openFileDescriptors: Int {
        // Reading the directory opens one itself.
        entries(of: "/proc/self/fd") - 1
    }

    /// How many threads the process has.
    public static var threadCount: Int { entries(of: "/proc/self/task") }

    private static func entries(of directory: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
    }
}

/// Runs `body` and throws `LeakCheck.Leak` if a counter stays above what it was before.
///
///     try await expectNoLeaks {
///         let server = try TestServer()
///         _ = try await Session().request(server.url("/get")).data()
///     }
public func expectNoLeaks<R>(
    of counters: [LeakCheck.Counter] = [.fileDescriptors, .threads],
    timeout: Duration = .seconds(5),
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> R
) async throws -> R {
    let check = LeakCheck(counters)
    let result = try await body()
    try await check.wait(timeout: timeout)
    return result
}
