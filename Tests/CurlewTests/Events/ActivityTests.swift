import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Dispatch
import Testing

@testable import Curlew

@Suite("Network activity", .timeLimit(.minutes(4)))
struct ActivityTests {
    /// A timer that a test fires.
    private final class ManualTimer: Sendable {
        private let waiting = Lock<[(delay: Duration, action: @Sendable () -> Void)]>([])

        var delays: [Duration] { waiting.withLock { $0.map(\.delay) } }

        func schedule(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
            waiting.withLock { $0.append((delay, action)) }
        }

        /// Runs everything that is scheduled.
        func pass() {
            let due = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for item in due { item.action() }
        }
    }

    private let timer = ManualTimer()
    private let changes = Recorded<Bool>()

    private func monitor() -> NetworkActivityMonitor {
        let monitor = NetworkActivityMonitor(timer: { [timer] in timer.schedule($0, $1) })
        monitor.onChange { [changes] in changes.note($0) }
        return monitor
    }

    @Test("the indicator appears after the activation delay and disappears after the completion delay")
    func appears() {
        let monitor = monitor()
        monitor.increment()
        #expect(!monitor.isActive && timer.delays == [.seconds(1)])
        timer.pass()
        #expect(monitor.isActive)
        monitor.decrement()
        #expect(monitor.isActive && timer.delays == [.milliseconds(170)])
        timer.pass()
        #expect(!monitor.isActive && changes.all == [true, false])
    }

    @Test("a request that is shorter than the activation delay does not show the indicator")
    func short() {
        let monitor = monitor()
        monitor.increment()
        monitor.decrement()
        timer.pass()
        #expect(changes.all.isEmpty)
        // The delay of the first activity must not affect the second.
        monitor.increment()
        monitor.decrement()
        monitor.increment()
        #expect(timer.delays.count == 2)
        timer.pass()
        #expect(changes.all == [true])
    }

    @Test("successive requests keep the indicator visible")
    func bridging() {
        let monitor = monitor()
        monitor.increment()
        timer.pass()
        monitor.decrement()
        monitor.increment()
        timer.pass()
        #expect(monitor.isActive && changes.all == [true])
        monitor.increment()
        monitor.decrement()
        #expect(monitor.requestCount == 1 && timer.delays.isEmpty)
    }

    @Test("a disabled monitor counts requests, and does not show the indicator")
    func disabled() {
        let monitor = monitor()
        monitor.increment()
        timer.pass()
        monitor.isEnabled = false
        #expect(changes.all == [true, false] && monitor.requestCount == 1)
        monitor.increment()
        timer.pass()
        #expect(!monitor.isActive)
        monitor.isEnabled = true
        timer.pass()
        #expect(monitor.isActive && changes.all == [true, false, true])
        for _ in 0..<5 { monitor.decrement() }
        #expect(monitor.requestCount == 0)
    }

    /// Returns when `count` requests are counted. A request may be counted some milliseconds after it was created.
    private func reaches(_ count: Int, _ monitor: NetworkActivityMonitor) async throws {
        while monitor.requestCount != count { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// Lets the timer pass until the sign has changed. The monitor starts the timer just after it has counted.
    private func passes(_ monitor: NetworkActivityMonitor, isActive: Bool) async throws {
        while monitor.isActive != isActive {
            timer.pass()
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    @Test("the activity monitor counts requests while they run")
    func requests() async throws {
        let monitor = monitor()
        let gate = Gate()
        let session = Session(
            transport: MockTransport { _ in
                try await gate.wait()
                return .text("x")
            },
            eventMonitors: [monitor]
        )
        let requests = (0..<3).map { _ in session.request("https://example.com").resume() }
        try await gate.waitForArrivals(count: 3)
        try await reaches(3, monitor)
        requests[0].suspend()
        try await reaches(2, monitor)
        requests[0].resume()
        try await passes(monitor, isActive: true)
        gate.open()
        for request in requests { _ = await request.response() }
        await session.drain()
        try await reaches(0, monitor)
        try await passes(monitor, isActive: false)
    }

    @Test("the sequence of changes begins with the current state")
    func sequence() async {
        let monitor = monitor()
        monitor.increment()
        timer.pass()
        var iterator = monitor.changes.makeAsyncIterator()
        #expect(await iterator.next() == true)
        monitor.decrement()
        timer.pass()
        #expect(await iterator.next() == false)
    }

    @Test("a change that occurs during a notification is delivered after it")
    func order() async {
        let monitor = monitor()
        var iterator = monitor.changes.makeAsyncIterator()
        #expect(await iterator.next() == false)
        monitor.onChange { [changes] isActive in
            // Simulates another thread that disables the monitor at this moment.
            if isActive { monitor.isEnabled = false }
            changes.note(isActive)
        }
        monitor.increment()
        timer.pass()
        #expect(!monitor.isActive && changes.all == [true, false])
        #expect(await iterator.next() == true)
        #expect(await iterator.next() == false)
        monitor.onChange(nil)
    }
}
