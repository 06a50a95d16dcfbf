internal import Foundation

/// Compares counters with a baseline, and waits for those that are still decreasing.
///
///     let check = LeakCheck(.fileDescriptors, .threads, .init("live transfers") { transport.liveTransfers })
///     …
///     try await check.wait()
///
/// File descriptors and threads are counted for the whole process: use such a check in a serialized suite, or
/// descriptors of other tests make it fail. A counter that reads one of your objects may be used anywhere.
public struct LeakCheck: Sendable {
    /// A count that must return to its baseline.
    public struct Counter: Sendable {
        /// The counter's name in a `Leak`.
        public let name: String
        /// The amount by which the count may stay above the baseline.
        public let allowance: Int
        let read: @Sendable () -> Int

        /// Creates a counter from a closure that may be called from any thread.
        public init(_ name: String, allowing allowance: Int = 0, read: @escaping @Sendable () -> Int) {
            self.name = name
            self.allowance = allowance
            self.read = read
        }

        /// The open file descriptors of the process.
        public static let fileDescriptors = Counter("file descriptors") { LeakCheck.openFileDescriptors }
        /// The threads of the process.
        public static let threads = Counter("threads") { LeakCheck.threadCount }

        /// The threads of the process, with an allowance: Swift's and Dispatch's pools start theirs late.
        public static func threads(allowing allowance: Int) -> Counter {
            Counter("threads", allowing: allowance) { LeakCheck.threadCount }
        }
    }

    /// The error for counters that did not return to their baseline in time.
    public struct Leak: Error, Sendable, CustomStringConvertible {
        /// The name, the baseline and the last reading of each counter.
        public let counters: [(name: String, baseline: Int, now: Int)]

        public var description: String {
            counters.map { "\($0.name): \($0.now), were \($0.baseline)" }.joined(separator: "; ")
        }
    }

    private let counters: [(counter: Counter, baseline: Int)]

    /// Records the baseline.
    public init(_ counters: Counter...) { self.init(counters) }

    /// Records the baseline.
    public init(_ counters: [Counter]) { self.counters = counters.map { ($0, $0.read()) } }

    /// The counters that exceed their baseline, read at this moment.
    public var leaks: [(name: String, baseline: Int, now: Int)] {
        counters.compactMap { counter, baseline in
            let now = counter.read()
            return now > baseline + counter.allowance ? (counter.name, baseline, now) : nil
        }
    }

    /// Returns as soon as no counter exceeds its baseline; throws `Leak` if one still does when `timeout` has passed.
    public func wait(timeout: Duration = .seconds(5)) async throws {
        let deadline = ContinuousClock.now + timeout.asTestBound
        while true {
            let leaks = leaks
            if leaks.isEmpty { return }
            if ContinuousClock.now >= deadline { throw Leak(counters: leaks) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// The number of open file descriptors of the process.
    public static var openFileDescriptors: Int {
        // Reading the directory opens one descriptor, which is not counted.
        entries(of: "/proc/self/fd") - 1
    }

    /// The number of threads of the process.
    public static var threadCount: Int { entries(of: "/proc/self/task") }

    private static func entries(of directory: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
    }
}

/// Runs `body` and throws `LeakCheck.Leak` if a counter stays above its earlier value.
///
///     try await expectNoLeaks {
///         let server = try TestServer()
///         _ = try await Session().request(server.url("/get")).data()
///     }
public func expectNoLeaks<R>(
    of counters: [LeakCheck.Counter] = [.fileDescriptors, .threads],
    timeout: Duration = .seconds(5),
    _ body: () async throws -> R
) async throws -> R {
    let check = LeakCheck(counters)
    let result = try await body()
    try await check.wait(timeout: timeout)
    return result
}
