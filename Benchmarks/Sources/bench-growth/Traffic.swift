internal import BenchmarkSupport
internal import Curlew
internal import Synchronization

/// Measures small GETs with a fixed number in flight, while other requests wait for responses.
struct Traffic {
    private let subject: Subject
    private let held: Int
    private let inFlight: Int
    private let warmUp: Double
    private let seconds: Double

    init(_ arguments: Arguments) throws {
        subject = try Subject(arguments)
        held = arguments.number("held", or: 10)
        inFlight = arguments.number("in-flight", or: 64)
        warmUp = Double(arguments.number("warm-up-ms", or: 300)) / 1000
        seconds = Double(arguments.number("ms", or: 1000)) / 1000
    }

    func run() async throws -> Figures {
        // Excludes the cost of the first request.
        try await subject.get(0)
        let before = ProcessFigures.status("VmRSS")
        let kept = try await Held(held, of: subject)
        let growth = ProcessFigures.status("VmRSS") - before

        let done = Counter()
        let workers = (0..<inFlight).map { _ in Task.detached { try await work(done) } }
        try await Task.sleep(for: .seconds(warmUp))
        let (stopwatch, first) = (Stopwatch(), done.value)
        try await Task.sleep(for: .seconds(seconds))
        let requests = done.value - first
        var figures: Figures = ["requests": [Double(requests)], "held_kb": [Double(growth)]]
        figures.add("get", stopwatch)
        done.stop()
        for worker in workers { try await worker.value }

        await subject.session.cancelAllRequests()
        guard await kept.cancelled == held else { throw UnexpectedAnswer("not every request was cancelled") }
        return figures
    }

    private func work(_ done: Counter) async throws {
        while let number = done.next() {
            try await subject.get(number)
            done.add()
        }
    }
}

/// Counts requests, from any thread.
final class Counter: Sendable {
    private let started = Atomic(0)
    private let ended = Atomic(0)
    private let isOver = Atomic(false)

    var value: Int { ended.load(ordering: .relaxed) }

    func next() -> Int? {
        if isOver.load(ordering: .relaxed) { return nil }
        return started.add(1, ordering: .relaxed).newValue
    }

    func add() { ended.add(1, ordering: .relaxed) }

    func stop() { isOver.store(true, ordering: .relaxed) }
}
